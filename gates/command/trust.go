package command

import (
	"context"
	"errors"
	"fmt"
	"os"

	"assay/gates"
	"assay/gates/selftest"
)

// measureTrust puts the figures into the document.
func (f *selftestFlags) measureTrust(ctx context.Context, s *shell) error {
	if f.trials < 1 {
		return &usageError{"validate selftest", fmt.Errorf("--trials %d: want at least one", f.trials)}
	}
	document, err := os.ReadFile(f.trust)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	t, err := selftest.MeasureTrust(ctx, f.options, selftest.TrustOptions{Trials: f.trials, SlowPairs: f.slowPairs, Simulated: f.simulated})
	if err != nil {
		return err
	}
	t.Version = gates.Version()
	if err := os.WriteFile(f.trust, selftest.Insert(document, t), 0o644); err != nil {
		return err
	}
	t.WriteMarkdown(s.out)
	if t.Same.Wrong() > 1 || 100*t.Model.Wrong() > t.Model.Trials {
		s.status = statusFailed
	}
	return nil
}
