package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/gates/history"
	"assay/snapshots"
)

// outputFlags say where a report goes besides standard output.
type outputFlags struct {
	json, junit, markdown string
	folder                string
}

func (o *outputFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&o.json, "json", "", "write the report as JSON to this file (- for standard output)")
	c.Flags().StringVar(&o.junit, "junit", "", "write the report as JUnit XML to this file")
	c.Flags().StringVar(&o.markdown, "markdown", "", "write the report as Markdown to this file")
	c.Flags().StringVar(&o.folder, "out", "", "write a snapshot (Markdown, JSON, JUnit, benchmark format, pictures) into this folder, with what changed since the one there")
}

// check refuses reports that could not be written, before the work is done.
func (o *outputFlags) check() error { return writable(o.json, o.junit, o.markdown) }

// writable tells what stands in the way of files that are to be written later.
func writable(paths ...string) error {
	for _, path := range paths {
		if path == "" || path == "-" {
			continue
		}
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			return fmt.Errorf("%s is a folder: no report can be written there", path)
		}
		if st, err := os.Stat(filepath.Dir(path)); err != nil {
			return fmt.Errorf("no report can be written: %w", err)
		} else if !st.IsDir() {
			return fmt.Errorf("%s is no folder: no report can be written there", filepath.Dir(path))
		}
	}
	return nil
}

// report writes the report wherever it was asked for.
func (o *outputFlags) report(s *shell, r *snapshots.Report) error {
	if o.json != "-" {
		if err := snapshots.WriteTable(s.out, r); err != nil {
			return err
		}
	}
	if err := o.snapshot(r); err != nil {
		return err
	}
	for _, x := range []struct {
		path  string
		write func(io.Writer, *snapshots.Report) error
	}{{o.json, snapshots.WriteJSON}, {o.junit, snapshots.WriteJUnit}, {o.markdown, snapshots.WriteMarkdown}} {
		var b bytes.Buffer
		if err := x.write(&b, r); err != nil {
			return err
		}
		if err := o.file(s, x.path, b.Bytes()); err != nil {
			return err
		}
	}
	return o.summary(r)
}

// snapshot writes the report in all its forms into the folder, with what changed
// since the report that lies there.
func (o *outputFlags) snapshot(r *snapshots.Report) error {
	if o.folder == "" {
		return nil
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return err
	}
	const base = "report"
	since, err := history.ReadReport(filepath.Join(o.folder, base+".json"))
	if err != nil { // none, or none that can be read: nothing is compared
		since = nil
	}
	return history.WriteFolder(o.folder, base, r, since, []*snapshots.Report{r})
}

func (o *outputFlags) file(s *shell, path string, b []byte) error {
	switch path {
	case "":
		return nil
	case "-":
		_, err := s.out.Write(b)
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// summary appends the Markdown to the file that GitHub shows beside a run.
func (o *outputFlags) summary(r *snapshots.Report) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" || o.markdown == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := snapshots.WriteMarkdown(f, r); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
