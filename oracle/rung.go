package oracle

import (
	"cmp"
	"fmt"

	"gopkg.in/yaml.v3"
)

// Rung says how strong a comparison is. The strongest comes first.
type Rung int

// The rungs, strongest first.
const (
	Bits    Rung = iota // every value has the same bits
	IDs                 // the same choice at every row
	ULP                 // every value within some units in the last place
	NMSE                // squared error relative to the squared reference, largest absolute and relative difference
	TopKSet             // the same set of largest logits
	KL                  // mean and largest Kullback-Leibler divergence and the share of equal choices
)

var rungNames = [...]string{"bits", "ids", "ulp", "nmse", "topk", "kl"}

func (r Rung) String() string {
	if r < 0 || int(r) >= len(rungNames) {
		return fmt.Sprintf("rung %d", int(r))
	}
	return rungNames[r]
}

// ParseRung reads a rung's name; rtol is another name of nmse.
func ParseRung(s string) (Rung, error) {
	if s == "rtol" {
		return NMSE, nil
	}
	for i, n := range rungNames {
		if n == s {
			return Rung(i), nil
		}
	}
	return 0, fmt.Errorf("oracle: rung %.40q: want one of bits, ids, ulp, nmse, topk, kl", s)
}

// UnmarshalYAML reads the rung's name.
func (r *Rung) UnmarshalYAML(n *yaml.Node) (err error) {
	*r, err = ParseRung(n.Value)
	return err
}

// MarshalYAML writes the rung's name.
func (r Rung) MarshalYAML() (any, error) { return r.String(), nil }

// Tolerance is what a comparison must keep to. Figures that are zero are not asked for, except what the rung itself asks:
// bits allows no difference, ids no flip above Margin, ulp at most MaxULP, topk the same set of TopK logits.
type Tolerance struct {
	Rung   Rung    `yaml:"rung"`
	MaxULP uint32  `yaml:"max_ulp,omitempty"`
	NMSE   float64 `yaml:"nmse,omitempty"`
	MaxAbs float64 `yaml:"max_abs,omitempty"`
	MaxRel float64 `yaml:"max_rel,omitempty"`
	// TopK is the size of the set, TopKShare the least share of rows on which it is the same (1 when zero).
	TopK      int     `yaml:"top_k,omitempty"`
	TopKShare float64 `yaml:"top_k_share,omitempty"`
	MeanKL    float64 `yaml:"mean_kl,omitempty"`
	MaxKL     float64 `yaml:"max_kl,omitempty"`
	// Top1 is the least share of rows with the same choice. Margin: a choice may differ only where the recorded margin
	// between the best two logits is at most this; negative: anywhere.
	Top1   float64 `yaml:"top1,omitempty"`
	Margin float64 `yaml:"margin,omitempty"`
	// NLL is the largest relative difference of the mean negative log-likelihood.
	NLL float64 `yaml:"nll,omitempty"`
}

// Judge says what does not hold, one sentence each; none when all holds.
func (t Tolerance) Judge(s *RowStats) []string {
	var bad []string
	say := func(format string, a ...any) { bad = append(bad, fmt.Sprintf(format, a...)) }
	if s.Rows == 0 {
		say("no row was compared")
		return bad
	}
	if s.NonFinite > 0 {
		say("%d logits are not finite, the first at %s", s.NonFinite, s.FirstNonFinite)
	}
	over := func(name string, got, limit float64, at Where) {
		if limit > 0 && !(got <= limit) {
			say("%s %.4g is above %.4g, at %s", name, got, limit, at)
		}
	}
	valued := t.Rung == Bits || t.Rung == ULP || t.Rung == NMSE
	if valued && s.Values == 0 {
		say("the recording holds no logits to compare at rung %s", t.Rung)
	}
	switch t.Rung {
	case Bits:
		if s.Differ > 0 {
			say("%d of %d values differ in their bits, the first at %s", s.Differ, s.Values, s.First)
		}
	case ULP:
		if s.MaxULP > t.MaxULP {
			say("%d units in the last place at %s, %d allowed", s.MaxULP, s.At, t.MaxULP)
		}
	case TopKSet:
		if share := s.TopKShare(); share < cmp.Or(t.TopKShare, 1) {
			say("the same set of top logits on %.4g of the rows, want %.4g", share, cmp.Or(t.TopKShare, 1))
		}
	}
	if t.NMSE > 0 && !(s.NMSE() <= t.NMSE) {
		say("nmse %.4g is above %.4g", s.NMSE(), t.NMSE)
	}
	over("largest absolute difference", s.MaxAbs, t.MaxAbs, s.At)
	over("largest relative difference", s.MaxRel, t.MaxRel, s.AtRel)
	if t.MeanKL > 0 && s.KLRows == 0 {
		say("the recording holds no logits from which a divergence follows")
	}
	if t.MeanKL > 0 && !(s.MeanKL() <= t.MeanKL) {
		say("mean KL %.4g is above %.4g", s.MeanKL(), t.MeanKL)
	}
	over("largest KL", s.MaxKL, t.MaxKL, s.AtKL)
	if t.Top1 > 0 && s.Top1() < t.Top1 {
		say("the same choice on %.4g of the rows, want %.4g", s.Top1(), t.Top1)
	}
	if (t.Rung == IDs || t.Margin > 0) && t.Margin >= 0 && s.FlipsAbove(t.Margin) > 0 {
		say("%d choices differ where the recorded margin is above %.4g: %s", s.FlipsAbove(t.Margin), t.Margin, s.WorstFlip())
	}
	if got, want := s.MeanNLL(); t.NLL > 0 && !(abs(got-want) <= t.NLL*abs(want)) {
		say("mean NLL %.5g, recorded %.5g: more than %.3g apart", got, want, t.NLL)
	}
	return bad
}

// JudgeTensor says what does not hold of one tensor.
func (t Tolerance) JudgeTensor(d *Difference) []string {
	var bad []string
	say := func(format string, a ...any) { bad = append(bad, d.Name+": "+fmt.Sprintf(format, a...)) }
	if d.NonFinite > 0 {
		say("%d values are not finite", d.NonFinite)
	}
	if t.Rung == Bits && d.Differ > 0 {
		say("%d of %d values differ in their bits, the first at %s", d.Differ, d.Values, d.First)
	}
	if t.Rung == ULP && d.MaxULP > t.MaxULP {
		say("%d units in the last place at %s, %d allowed", d.MaxULP, d.At, t.MaxULP)
	}
	for _, x := range []struct {
		name       string
		got, limit float64
		at         Where
	}{{"nmse", d.NMSE, t.NMSE, d.At}, {"largest absolute difference", d.MaxAbs, t.MaxAbs, d.At}, {"largest relative difference", d.MaxRel, t.MaxRel, d.AtRel}} {
		if x.limit > 0 && !(x.got <= x.limit) {
			say("%s %.4g is above %.4g, at %s", x.name, x.got, x.limit, x.at)
		}
	}
	return bad
}

func abs(x float64) float64 { return max(x, -x) }
