package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/snapshots"
)

// Committed is the store below the root of the project whose snapshots are part
// of it.
const Committed = "snapshots/records"

// base begins the names of a snapshot's files; dataFile is the one that is read back.
const (
	base     = "snapshot"
	dataFile = base + ".json"
)

// Store is a folder of snapshots.
type Store struct{ Dir string }

// DefaultStore is where a user's snapshots are kept.
func DefaultStore() (*Store, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return &Store{filepath.Join(dir, "assay", "snapshots")}, nil
}

// List reads all snapshots, oldest first. A store that is not there is empty.
func (s *Store) List() ([]*snapshots.Report, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	var all []*snapshots.Report
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		r, err := s.Read(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue // a folder of something else
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b *snapshots.Report) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}

// Read reads one snapshot.
func (s *Store) Read(name string) (*snapshots.Report, error) {
	r, err := ReadReport(filepath.Join(s.Dir, name, dataFile))
	if err != nil {
		return nil, err
	}
	r.Name = name
	return r, nil
}

// ReadReport reads a report that was written as JSON.
func ReadReport(path string) (*snapshots.Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	var r snapshots.Report
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("history: %s: %w", path, err)
	}
	if r.Format != snapshots.ReportFormat {
		return nil, fmt.Errorf("history: %s: format is %q, want %q", path, r.Format, snapshots.ReportFormat)
	}
	return &r, nil
}

// Add stores a report as a new snapshot, named by its time and machine, and gives
// its folder. What changed is told since the last one of the same machine and kind.
func (s *Store) Add(r *snapshots.Report) (dir string, err error) {
	all, err := s.List()
	if err != nil {
		return "", err
	}
	name := r.Started.UTC().Format("20060102T150405Z")
	if r.MachineID != "" {
		name += "-" + r.MachineID
	}
	r.Name = name
	for n := 2; slices.ContainsFunc(all, func(x *snapshots.Report) bool { return x.Name == r.Name }); n++ {
		r.Name = fmt.Sprintf("%s-%d", name, n)
	}
	return s.write(r, all)
}

// write writes one snapshot beside those that are there, whole or not at all.
func (s *Store) write(r *snapshots.Report, all []*snapshots.Report) (dir string, err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(s.Dir, ".snapshot-*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(half)) }()
	if err := os.Chmod(half, 0o755); err != nil {
		return "", err
	}
	if err := WriteFolder(half, base, r, before(all, r), append(until(all, r), r)); err != nil {
		return "", err
	}
	dir = filepath.Join(s.Dir, r.Name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.Rename(half, dir)
}

// Supersede marks a snapshot: its figures no longer count, for a reason. It stays,
// and its page says so.
func (s *Store) Supersede(name, by, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return fmt.Errorf("history: %s: superseded without a reason", name)
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	for _, need := range []string{name, by} {
		if need != "" && !slices.ContainsFunc(all, func(r *snapshots.Report) bool { return r.Name == need }) {
			return fmt.Errorf("history: no snapshot %s in %s", need, s.Dir)
		}
	}
	r, err := s.Read(name)
	if err != nil {
		return err
	}
	r.Superseded = &snapshots.Superseded{By: by, Reason: strings.TrimSpace(reason)}
	_, err = s.write(r, all)
	return err
}

// Render writes the pages and pictures of all snapshots anew from their data.
func (s *Store) Render() (n int, err error) {
	all, err := s.List()
	if err != nil {
		return 0, err
	}
	for _, r := range all {
		if _, err := s.write(r, all); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// before is the newest snapshot that a report is compared with: of the same
// machine and command, older, and not superseded.
func before(all []*snapshots.Report, r *snapshots.Report) (last *snapshots.Report) {
	for _, x := range until(all, r) {
		if x.Superseded == nil && x.MachineID == r.MachineID && verb(x.Command) == verb(r.Command) {
			last = x
		}
	}
	return last
}

// verb is the subcommand: snapshots of one kind are compared.
func verb(command string) string {
	if f := strings.Fields(command); len(f) > 1 && !strings.HasPrefix(f[1], "-") {
		return f[1]
	}
	return ""
}

// until are the snapshots that are older than a report.
func until(all []*snapshots.Report, r *snapshots.Report) (older []*snapshots.Report) {
	for _, x := range all {
		if x.Name != r.Name && (x.Started.Before(r.Started) || x.Started.Equal(r.Started) && x.Name < r.Name) {
			older = append(older, x)
		}
	}
	return older
}
