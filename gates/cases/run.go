package cases

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	// maxAlloc is what opening may allocate beside the size of the files: the
	// acceptance of every case, also of refused ones.
	maxAlloc = 64 << 20
	// aimTime is what a case may take. Machines that run tests are busy, so
	// only maxTime fails; Outcome.Seconds tells the rest.
	aimTime = time.Second
	maxTime = 5 * time.Second
)

// Outcome is what came of one case.
type Outcome struct {
	Problems []string // empty: the case gives its expectation
	Skipped  string   // why it could not be judged; empty when it was
	Refused  error    // what the reader said, when it refused
	Elapsed  time.Duration
	Alloc    uint64 // bytes allocated while opening
	Notes    []string
}

func (o *Outcome) problem(format string, args ...any) {
	o.Problems = append(o.Problems, fmt.Sprintf(format, args...))
}

func (o *Outcome) note(format string, args ...any) {
	o.Notes = append(o.Notes, fmt.Sprintf(format, args...))
}

// Run judges one case. scratch is an empty folder that it may fill.
func (f *Folder) Run(c Case, h Hooks, scratch string) *Outcome {
	o := &Outcome{}
	path, err := f.place(c, filepath.Join(scratch, "case"))
	if err != nil {
		o.problem("the case cannot be set up: %v", err)
		return o
	}
	open := openerFor(c, h)
	if open == nil {
		o.Skipped = "no " + c.Level + " reader is plugged in"
		return o
	}
	subject := o.measure(c, path, open)
	if subject != nil {
		subject.check(f, c, o)
		if err := subject.close(); err != nil {
			o.problem("closing: %v", err)
		}
	}
	if c.Truncate != nil {
		f.truncated(c, path, scratch, open, o)
	}
	return o
}

// measure opens path and judges refusal or acceptance, time and memory.
func (o *Outcome) measure(c Case, path string, open opener) subject {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	s, err := open(path)
	o.Elapsed = time.Since(start)
	runtime.ReadMemStats(&after)
	o.Alloc = after.TotalAlloc - before.TotalAlloc
	if limit := maxAlloc + sizeOf(path); o.Alloc > limit {
		o.problem("opening allocated %d bytes, the limit is %d", o.Alloc, limit)
	}
	if o.Elapsed > maxTime {
		o.problem("opening took %v, far beyond the aim of %v", o.Elapsed, aimTime)
	}
	o.Refused = err
	switch {
	case err == nil && c.Expect == "refuse":
		o.problem("was accepted, must be refused")
	case err != nil && c.Expect == "accept":
		o.problem("was refused, must be accepted: %v", err)
	case err != nil:
		o.wording(c, plainText(err, path))
	}
	return s
}

// plainText is an error's text without the path that was opened: a file's own
// name often says what is wrong with it, which proves nothing.
func plainText(err error, path string) string {
	text := strings.ReplaceAll(err.Error(), path, "")
	return strings.ReplaceAll(text, filepath.Dir(path), "")
}

// wording holds the text of a refusal against what it must name.
func (o *Outcome) wording(c Case, text string) {
	for _, name := range c.Error.Names {
		if !strings.Contains(text, name) {
			o.problem("the error does not name %q: %s", name, text)
		}
	}
	o.hinted(c, text)
	if c.ErrorNumbers != nil {
		for _, shape := range [][]int{c.ErrorNumbers.Expected, c.ErrorNumbers.Found} {
			if !strings.Contains(text, fmt.Sprint(shape)) && !strings.Contains(text, commas(shape)) {
				o.problem("the error does not show the shape %v: %s", shape, text)
			}
		}
	}
}

func (o *Outcome) hinted(c Case, text string) {
	for _, hint := range c.Error.Hints {
		if strings.Contains(strings.ToLower(text), strings.ToLower(hint)) {
			return
		}
	}
	if len(c.Error.Hints) > 0 {
		o.problem("the error holds none of the hints %q: %s", c.Error.Hints, text)
	}
}

func commas(shape []int) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

// truncated opens every prefix of the file that must be refused.
func (f *Folder) truncated(c Case, path, scratch string, open opener, o *Outcome) {
	whole, err := os.ReadFile(path)
	if err != nil {
		o.problem("truncate: %v", err)
		return
	}
	cut := filepath.Join(scratch, "cut"+filepath.Ext(path))
	for n := range min(c.Truncate.EveryLengthBelow, len(whole)) {
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			o.problem("truncate: %v", err)
			return
		}
		s, err := open(cut)
		if err == nil {
			s.close()
			o.problem("its first %d bytes alone were accepted, must be refused", n)
			return
		}
		if o.hinted(c, plainText(err, cut)); len(o.Problems) > 0 {
			return
		}
	}
	o.note("%d prefixes refused", c.Truncate.EveryLengthBelow)
}

// place gives the path to open: the file itself, or a folder made by the recipe.
func (f *Folder) place(c Case, scratch string) (string, error) {
	if c.Recipe == nil {
		path := filepath.Join(f.Dir, filepath.FromSlash(c.File))
		_, err := os.Stat(path)
		return path, err
	}
	base := os.DirFS(filepath.Join(f.Dir, filepath.FromSlash(c.Recipe.Base)))
	if err := os.CopyFS(scratch, base); err != nil {
		return "", err
	}
	for name, from := range c.Recipe.Replace {
		text, err := os.ReadFile(filepath.Join(f.Dir, filepath.FromSlash(from)))
		if err != nil {
			return "", err
		}
		to := filepath.Join(scratch, filepath.Base(name))
		os.Remove(to) // the copy keeps the mode, which may be read-only
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
	}
	return scratch, nil
}

// sizeOf is the size of a file, or of all files of a folder.
func sizeOf(path string) uint64 {
	total := uint64(0)
	filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				total += uint64(info.Size())
			}
		}
		return nil
	})
	return total
}
