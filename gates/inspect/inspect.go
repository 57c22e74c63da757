package inspect

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"assay/engine/checkpoint"
)

// ErrRefused is wrapped by what Run returns when the file is not well formed,
// or, with Options.Open, cannot be opened as a model: exit status 2.
var ErrRefused = errors.New("refused")

// Options choose what Run does beside judging the container.
type Options struct {
	// Open also opens the path as a model and tells whether assay can run it.
	Open bool
	// OpenModel is what Open opens it with; nil means the engine and the
	// model's tokenizer. It describes the model in a few words and gives its
	// config.
	OpenModel func(path string) (description string, config any, err error)
	// JSON is a file to write the Report to, with SHA-256s; "-" is w itself,
	// which then gets no text.
	JSON string
}

// Run inspects path and writes the findings to w.
func Run(w io.Writer, path string, o Options) error {
	r, refused := Inspect(path, o)
	if o.JSON != "" {
		if err := writeJSON(w, o.JSON, r); err != nil {
			return err
		}
	}
	if o.JSON != "-" {
		if err := r.WriteText(w); err != nil {
			return err
		}
	}
	return refused
}

// Inspect gives the report, and the refusal, wrapping ErrRefused, if there is
// one. Digests are computed only for a JSON report.
func Inspect(path string, o Options) (*Report, error) {
	r := &Report{Path: path, Files: []File{}, Tensors: []Tensor{}, Formats: []Format{}, KV: Entries{}}
	end, err := r.read(path)
	defer end()
	if err != nil {
		r.Reason = err.Error()
		return r, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	r.WellFormed = true
	r.sum()
	if o.JSON != "" {
		if err := r.digest(); err != nil {
			r.WellFormed, r.Reason = false, err.Error()
			return r, fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	if !o.Open {
		return r, nil
	}
	open := o.OpenModel
	if open == nil {
		open = openEngine
	}
	r.Open = &Opened{}
	r.Open.Model, r.Open.Config, err = open(path)
	if err != nil {
		r.Open = &Opened{Reason: err.Error()}
		return r, fmt.Errorf("%w as a model: %w", ErrRefused, err)
	}
	r.Open.Runs = true
	return r, nil
}

// sum fills Formats, largest first.
func (r *Report) sum() {
	for _, t := range r.Tensors {
		i := slices.IndexFunc(r.Formats, func(f Format) bool { return f.Type == t.Type })
		if i < 0 {
			i = len(r.Formats)
			r.Formats = append(r.Formats, Format{Type: t.Type})
		}
		r.Formats[i].Tensors++
		r.Formats[i].Bytes += t.Bytes
	}
	slices.SortStableFunc(r.Formats, func(a, b Format) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

func (r *Report) digest() (err error) {
	defer checkpoint.Catch(&err, checkpoint.Watch())
	for i := range r.Tensors {
		sum := sha256.Sum256(r.Tensors[i].data)
		r.Tensors[i].SHA256 = hex.EncodeToString(sum[:])
	}
	for i := range r.Files {
		sum := sha256.Sum256(r.Files[i].data)
		r.Files[i].SHA256 = hex.EncodeToString(sum[:])
	}
	return nil
}

func writeJSON(w io.Writer, path string, r *Report) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if path == "-" {
		_, err = w.Write(text)
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
