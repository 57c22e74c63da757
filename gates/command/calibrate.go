package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"assay/fixtures"
	"assay/gates/bench"
)

func init() { register(calibrateCommand) }

func calibrateCommand(s *shell) *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use:   "calibrate",
		Short: "Measure what this machine can do, and how steady it is",
		Long: `calibrate measures how fast all threads together read memory and multiply int8, and
how far samples of one and the same binary lie apart (the noise floor of each phase,
by default on an embedded tiny model). It prints the figures and stores them in the
user's cache folder. Experiments and comparisons measure the floor of their own
workload.`,
		Example: `  validate calibrate
  validate calibrate --model model.gguf --samples 10`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.calibrate(c.Context(), s) },
	}
	f.addWorkload(c)
	c.Flags().StringVar(&f.options.Model, "model", "", "weight file or folder to measure the noise with (default: an embedded tiny model)")
	return c
}

func (f *benchFlags) calibrate(ctx context.Context, s *shell) error {
	if err := f.complete("validate calibrate"); err != nil {
		return err
	}
	if f.options.Model == "" {
		dir, err := os.MkdirTemp("", "assay-fixtures-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if err := fixtures.Materialise(dir); err != nil {
			return err
		}
		f.options.Model = filepath.Join(dir, "models", "llama-Q4_0.gguf")
	}
	path, err := bench.CalibrationPath()
	if err != nil {
		return err
	}
	p := newProgress(s.err)
	f.options.Progress = func(done, total int, _ string) { p.line(fmt.Sprintf("[%d/%d] the same against itself", done, total)) }
	c, err := bench.Calibrate(ctx, f.options)
	p.end()
	if err != nil {
		return err
	}
	if err := c.Save(path); err != nil {
		return err
	}
	if f.json != "-" {
		writeCalibration(s.out, c, path)
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	var files outputFlags
	return files.file(s, f.json, append(b, '\n'))
}

func writeCalibration(w io.Writer, c *bench.Calibration, path string) {
	fmt.Fprintf(w, "%s\n", c.Machine)
	fmt.Fprintf(w, "read bandwidth  %8.1f GB/s    %d threads\n", c.Machine.ReadGBs, c.Machine.Threads)
	fmt.Fprintf(w, "int8            %8.1f GMAC/s  %d threads, %s\n", c.Machine.Int8GMACs, c.Machine.Threads, c.Machine.Level)
	for _, n := range c.Noise {
		fmt.Fprintf(w, "noise floor     %8.1f %%       %s (%.3f [%.3f, %.3f] on %s)\n", 100*n.Floor, n.Phase, n.Median, n.Low, n.High, c.Model)
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
	fmt.Fprintf(w, "stored in %s\n", path)
}
