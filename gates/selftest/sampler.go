package selftest

import (
	"context"

	"assay/gates/experiment"
	"assay/gates/sampling"
)

// sampler takes real pairs outside of a record.
type sampler struct {
	*sampling.Sampler
	closing func() error
}

func (b *bench) sampler(ctx context.Context, d *experiment.Definition, seed uint64) (*sampler, error) {
	s, closing, err := b.runner.Sampler(ctx, d)
	if err != nil {
		return nil, err
	}
	s.Seed = seed
	return &sampler{s, closing}, nil
}

// close removes what was made for the pairs; it is all below a temporary folder
// that is removed later.
func (s *sampler) close() { _ = s.closing() }

// pair gives the attempt that counts.
func (s *sampler) pair(ctx context.Context, i int) (*sampling.Pair, error) {
	var last sampling.Pair
	err := s.Pair(ctx, i, func(p sampling.Pair) error { last = p; return nil })
	return &last, err
}
