package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

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
	c.Flags().StringVar(&o.folder, "out", "", "write a snapshot (Markdown, JSON, JUnit) into this folder")
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
	if o.folder != "" {
		if err := os.MkdirAll(o.folder, 0o755); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		path, inFolder string
		write          func(io.Writer, *snapshots.Report) error
	}{{o.json, "report.json", snapshots.WriteJSON}, {o.junit, "report.junit.xml", snapshots.WriteJUnit}, {o.markdown, "report.md", snapshots.WriteMarkdown}} {
		var b bytes.Buffer
		if err := x.write(&b, r); err != nil {
			return err
		}
		if err := o.file(s, x.path, b.Bytes()); err != nil {
			return err
		}
		if o.folder != "" {
			if err := os.WriteFile(filepath.Join(o.folder, x.inFolder), b.Bytes(), 0o644); err != nil {
				return err
			}
		}
	}
	return o.summary(r)
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
