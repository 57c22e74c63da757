package gates

import (
	"cmp"
	"fmt"
	"strings"

	"assay/oracle"
	"assay/snapshots"
)

// describe puts a tolerance in a few words.
func describe(t oracle.Tolerance) string {
	var parts []string
	add := func(format string, a ...any) { parts = append(parts, fmt.Sprintf(format, a...)) }
	switch t.Rung {
	case oracle.Bits:
		add("same bits")
	case oracle.IDs:
		add("same ids")
		if t.Margin > 0 {
			add("flips up to margin %g", t.Margin)
		}
	case oracle.ULP:
		add("≤ %d ulp", t.MaxULP)
	case oracle.TopKSet:
		add("same top %d on ≥ %g %%", max(t.TopK, 1), 100*cmp.Or(t.TopKShare, 1))
	}
	for _, x := range []struct {
		name  string
		limit float64
	}{{"nmse", t.NMSE}, {"|difference|", t.MaxAbs}, {"relative difference", t.MaxRel}, {"mean KL", t.MeanKL}, {"largest KL", t.MaxKL}} {
		if x.limit > 0 {
			add("%s ≤ %g", x.name, x.limit)
		}
	}
	if t.Top1 > 0 {
		add("top-1 ≥ %g %%", 100*t.Top1)
	}
	if t.Margin > 0 && t.Rung != oracle.IDs {
		add("flips up to margin %g", t.Margin)
	}
	if t.NLL > 0 {
		add("mean NLL within %g %%", 100*t.NLL)
	}
	return strings.Join(parts, ", ")
}

// result begins the result of a check, which holds until something is found.
func (k *Check) result(value string) snapshots.Result {
	return snapshots.Result{Check: k.What, Rung: k.Rung.String(), Value: value, Tolerance: describe(k.Tolerance), Why: strings.Join(strings.Fields(k.Why), " "), Verdict: snapshots.Held}
}

// fail turns a result into a failure.
func fail(x *snapshots.Result, lines ...string) {
	if len(lines) == 0 {
		return
	}
	x.Verdict = snapshots.Failed
	x.Detail = strings.Join(append(nonEmpty(x.Detail), lines...), "\n")
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// rowsValue is what is told of rows of logits at a rung.
func rowsValue(s *oracle.RowStats, t oracle.Tolerance) string {
	switch {
	case t.Rung == oracle.IDs:
		return choices(s)
	case t.Rung == oracle.Bits:
		return fmt.Sprintf("%d of %d logits differ", s.Differ, s.Values)
	case t.Rung == oracle.ULP:
		return fmt.Sprintf("%d ulp", s.MaxULP)
	case t.Rung == oracle.TopKSet:
		return fmt.Sprintf("same top set on %.4g %%", 100*s.TopKShare())
	case t.Rung == oracle.KL:
		text := fmt.Sprintf("mean KL %.3g, max %.3g", s.MeanKL(), s.MaxKL)
		if t.MaxAbs > 0 {
			text += fmt.Sprintf(", |difference| %.3g", s.MaxAbs)
		}
		if t.Top1 > 0 || t.Margin > 0 {
			text += ", " + choices(s)
		}
		if f := s.WorstFlip(); f != nil && t.Margin > 0 {
			text += fmt.Sprintf(", worst flip at margin %.3g", f.Margin)
		}
		return text
	}
	return fmt.Sprintf("|difference| %.3g, nmse %.2g", s.MaxAbs, s.NMSE())
}

func choices(s *oracle.RowStats) string {
	all := s.Same + s.FlipCount
	if s.FlipCount == 0 {
		return fmt.Sprintf("%d of %d", s.Same, all)
	}
	return fmt.Sprintf("%d of %d (%.2f %%)", s.Same, all, 100*s.Top1())
}
