package sampling

import (
	"context"

	"assay/gates/bench"
)

// First takes one sample of arm A, to see whether it can be taken at all.
func (s *Sampler) First(ctx context.Context) (*bench.Sample, error) { return s.take(ctx, "A", &s.A) }
