package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"assay/gates/sampling"
)

// Store is a folder of records, one file of JSON lines per experiment. Lines are
// only appended, and each is on disk before Append returns.
type Store struct{ Dir string }

// DefaultStore is where a user's records are kept.
func DefaultStore() (*Store, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return &Store{filepath.Join(dir, "assay", "experiments")}, nil
}

// Line is one line of a record. Exactly one of its parts is there.
type Line struct {
	Run string    `json:"run"` // which run of the experiment
	At  time.Time `json:"at"`

	Registration *Registration  `json:"registration,omitempty"` // begins a run
	Pair         *sampling.Pair `json:"pair,omitempty"`
	Look         *sampling.Look `json:"look,omitempty"`
	Outcome      *Outcome       `json:"outcome,omitempty"` // ends it
	Floor        *Floor         `json:"floor,omitempty"`   // in the record of noise floors
}

func (s *Store) path(name string) string { return filepath.Join(s.Dir, name+".jsonl") }

// Read gives the lines of a record, none when there is no record. A last line that
// was torn by the end of a process is left out.
func (s *Store) Read(name string) ([]Line, error) {
	b, err := os.ReadFile(s.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lines []Line
	number := 0
	for text := range bytes.Lines(whole(b)) {
		number++
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("experiment: %s: line %d: %w", s.path(name), number, err)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// whole cuts off what follows the last line feed.
func whole(b []byte) []byte { return b[:bytes.LastIndexByte(b, '\n')+1] }

// A Writer appends to one record; nobody else can meanwhile.
type Writer struct{ file *os.File }

// BusyError is a record that another process is writing.
type BusyError struct{ Path string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("experiment: %s: another process is running this experiment", e.Path)
}

// Append opens a record for appending. A torn last line, which no reader has ever
// seen, is cut off first.
func (s *Store) Append(name string) (_ *Writer, err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.path(name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := lock(f); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(f.Name())
	if err != nil {
		return nil, err
	}
	if n := len(whole(b)); n < len(b) {
		if err := f.Truncate(int64(n)); err != nil {
			return nil, err
		}
	}
	return &Writer{f}, syncDir(s.Dir)
}

// Write appends one line and waits until it is on disk.
func (w *Writer) Write(l *Line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := w.file.Write(append(b, '\n')); err != nil {
		return err
	}
	return w.file.Sync()
}

// Close releases the record.
func (w *Writer) Close() error { return w.file.Close() }

// Copy appends the lines of one run of another store, unless they are there.
func (s *Store) Copy(from *Store, name, run string) error {
	lines, err := from.Read(name)
	if err != nil {
		return err
	}
	w, err := s.Append(name)
	if err != nil {
		return err
	}
	there, err := s.Read(name)
	if err != nil {
		return errors.Join(err, w.Close())
	}
	for i := range there {
		if there[i].Run == run {
			return w.Close()
		}
	}
	for i := range lines {
		if lines[i].Run == run {
			if err := w.Write(&lines[i]); err != nil {
				return errors.Join(err, w.Close())
			}
		}
	}
	return w.Close()
}
