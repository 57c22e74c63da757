package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"assay/snapshots"
)

// CalibrationFormat is the value of Calibration.Format.
const CalibrationFormat = "assay-calibration/1"

// Calibration is what a machine can do and how steady it is.
type Calibration struct {
	Format  string            `json:"format"`
	Taken   time.Time         `json:"taken"`
	Machine snapshots.Machine `json:"machine"` // with its ceilings
	Model   string            `json:"model"`   // that the noise was measured with
	Noise   []Noise           `json:"noise"`
	// Warnings are those of the measurement: a busy machine calibrates nothing.
	Warnings []string `json:"warnings,omitempty"`
}

// Noise is how far two runs of the same binary lie apart in one phase: a change
// inside of the floor is none.
type Noise struct {
	Phase  string  `json:"phase"`
	Floor  float64 `json:"floor"` // largest distance of the interval from 1
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Calibrate measures the ceilings, and the noise of a model against itself.
func Calibrate(ctx context.Context, o Options) (*Calibration, error) {
	if o.Peer == nil {
		o.Peer = Self(o.Command...)
	}
	b, err := Run(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Calibration{Format: CalibrationFormat, Taken: time.Now().UTC().Truncate(time.Second), Machine: b.Machine, Model: filepath.Base(b.Model.Path), Warnings: b.Warnings}
	for _, r := range b.Ratios {
		c.Noise = append(c.Noise, Noise{Phase: r.Phase, Floor: max(math.Abs(r.Low-1), math.Abs(r.High-1)), Median: r.Speedup, Low: r.Low, High: r.High})
	}
	return c, nil
}

// CalibrationPath is where a user's calibration is kept.
func CalibrationPath() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "assay", "calibration.json"), nil
}

// Save writes the calibration, whole or not at all.
func (c *Calibration) Save(path string) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".calibration-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

// LoadCalibration reads a calibration back.
func LoadCalibration(path string) (*Calibration, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var c Calibration
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("bench: %s: %w", path, err)
	}
	if c.Format != CalibrationFormat {
		return nil, fmt.Errorf("bench: %s: format is %q, want %q", path, c.Format, CalibrationFormat)
	}
	return &c, nil
}
