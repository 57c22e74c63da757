package oracle

import (
	"fmt"
	"math"
	"strings"
)

// Diagnosis names the first tensor that diverges from a recording and what usually causes such a divergence.
type Diagnosis struct {
	First *Difference // nil: no state tensor diverges
	Where string      // "k.L0 diverges first; everything before it agrees: hidden.embed"
	Hints []string
}

func (d Diagnosis) String() string {
	return strings.Join(append([]string{d.Where}, d.Hints...), "\n  - ")
}

// Diagnose looks at the differences of one prompt, in the order CompareState gives them, and at the rows of logits (may be nil).
// A tensor diverges when the relative RMS of its difference is above rel. Recordings without state give hints from logits alone.
func Diagnose(diffs []Difference, rows *RowStats, rel float64) Diagnosis {
	x := examiner{diffs: diffs, rows: rows, rel: rel}
	for i := range diffs {
		if !(diffs[i].RelRMS() <= rel) && !strings.Contains(diffs[i].Name, ".node.") {
			return x.at(i)
		}
	}
	return x.logits()
}

type examiner struct {
	diffs []Difference
	rows  *RowStats
	rel   float64
}

// short is the tensor's name without its prompt.
func short(name string) string {
	_, rest, _ := strings.Cut(name, ".")
	return rest
}

func (x *examiner) find(name string) *Difference {
	for i := range x.diffs {
		if short(x.diffs[i].Name) == name {
			return &x.diffs[i]
		}
	}
	return nil
}

func (x *examiner) agrees(d *Difference) bool { return d != nil && d.RelRMS() <= x.rel }
func (x *examiner) differs(d *Difference) bool {
	return d != nil && !(d.RelRMS() <= x.rel)
}

func (x *examiner) at(i int) Diagnosis {
	d := &x.diffs[i]
	before := "it is the first one recorded"
	if i > 0 {
		before = "the tensors before it agree, the last is " + short(x.diffs[i-1].Name)
	}
	g := Diagnosis{First: d, Where: fmt.Sprintf("first diverging tensor: %s (%s)", d, before)}
	hint := func(format string, a ...any) { g.Hints = append(g.Hints, fmt.Sprintf(format, a...)) }
	kind, rest, _ := strings.Cut(short(d.Name), ".")
	switch {
	case kind == "hidden" && rest == "embed":
		hint("the embedding itself differs: the token embedding is decoded wrongly, or its scale is missing")
	case kind == "k":
		x.keys(d, hint)
	case kind == "v":
		x.values(d, hint)
	case kind == "hidden" && rest == "final_norm":
		hint("every layer agrees and the last norm does not: its weights, its epsilon or an offset of 1 in its weights")
	default:
		x.hidden(d, hint)
	}
	x.shape(d, hint)
	return g
}

func (x *examiner) keys(d *Difference, hint func(string, ...any)) {
	v := x.find(fmt.Sprintf("v.L%d", d.Layout.Layer))
	switch {
	case x.agrees(v):
		hint("values of the same layer agree, so its input, the norm and the attention do too: what only keys have differs, the rotary embedding, the key weights or bias, the key norm")
	case x.differs(v):
		hint("keys and values differ together: the norm before attention (weights, epsilon), the weights of the layer, or its input")
	}
	r := d.Rotary
	if r == nil {
		return
	}
	switch {
	case r.Swapped <= x.rel:
		hint("keys agree when their elements are exchanged between adjacent (2i, 2i+1) and halves (i, i+d/2): the order of the elements, not the numbers, differs")
	case r.Norms > x.rel:
		hint("the lengths of the keys differ, which no rotation changes: look at weights, bias or norm rather than at the rotary embedding")
	case r.AtZero > x.rel:
		hint("the keys have the right lengths and are turned already at position 0: positions are counted from another start, or the pairs of the key weights are permuted")
	case r.Pairs > x.rel:
		hint("lengths agree and position 0 does, but the lengths of the pairs do not: the rotary pairing is swapped (adjacent 2i, 2i+1 against halves i, i+d/2)")
	case math.Abs(r.Turn) > 1e-4:
		hint("every pair is turned, the fastest by %+.4g radians too much per position: positions are scaled or shifted (rope scaling factor)", r.Turn)
	case r.FirstOff > 0:
		hint("the fastest pair is right and pairs from %d on are turned wrongly: the rotary base or a frequency scaling (llama-3, frequency factors) differs", r.FirstOff)
	default:
		hint("keys have the right lengths: the rotation differs only at later positions")
	}
}

func (x *examiner) values(d *Difference, hint func(string, ...any)) {
	if x.agrees(x.find(fmt.Sprintf("k.L%d", d.Layout.Layer))) {
		hint("keys of the same layer agree, so the input and the norm do: the value weights or bias, or the order of heads in them")
		return
	}
	hint("values differ: the norm before attention, the value weights, or the input of the layer")
}

func (x *examiner) hidden(d *Difference, hint func(string, ...any)) {
	n := d.Layout.Layer
	k, v := x.find(fmt.Sprintf("k.L%d", n)), x.find(fmt.Sprintf("v.L%d", n))
	if !x.agrees(k) || !x.agrees(v) {
		hint("layer %d, keys and values of it are not recorded: attention, feed-forward or a norm of the layers since the last tensor that agrees", n)
		return
	}
	first := x.firstBad(d)
	switch {
	case first == d.Layout.First:
		hint("keys and values of layer %d agree and its output differs from the first position on, where attention only passes the value through: the output projection, the feed-forward part (activation, gate and up exchanged) or a norm", n)
	case first > d.Layout.First+1:
		hint("keys and values of layer %d agree and its output does up to position %d: something begins there, a sliding window, a mask, a block of the attention", n, first-1)
	default:
		hint("keys and values of layer %d agree, position 0 of its output does and later ones do not: attention itself, its scale 1/sqrt(head dim), its mask, its queries, the sharing of key heads", n)
	}
}

// shape looks at the form of a difference: a factor, growth with position, a sudden start.
func (x *examiner) shape(d *Difference, hint func(string, ...any)) {
	if d.ScaleRest < d.RelRMS()/8 && math.Abs(d.Scale-1) > x.rel/2 {
		hint("ours is the recorded tensor times %.6g: a scale is missing or applied twice", d.Scale)
	}
	n := len(d.ByPosition)
	if n < 2 {
		return
	}
	first := x.firstBad(d)
	if at := first - d.Layout.First; at > 1 && at < n {
		hint("positions before %d agree, the difference begins there: a window, a limit of the context or a split of the prompt", first)
	}
	if n >= 8 {
		if a, b := mean(d.ByPosition[1:1+n/4]), mean(d.ByPosition[n-n/4:]); b > 3*a && b > x.rel {
			hint("the difference grows with the position (%.3g to %.3g): rotary base or scaling, or a window", a, b)
		}
	}
}

// firstBad is the first absolute position at which d is above the limit.
func (x *examiner) firstBad(d *Difference) int {
	for p, e := range d.ByPosition {
		if !(e <= x.rel) {
			return d.Layout.First + p
		}
	}
	return d.Layout.First
}

// logits looks at the rows of logits when no state tensor diverges.
func (x *examiner) logits() Diagnosis {
	s := x.rows
	if s != nil && s.Differ > 1 && s.MaxAbs*s.MaxAbs > 0.9*s.sum.dd {
		return Diagnosis{Where: fmt.Sprintf("one logit carries the whole difference: id %d at %s, ours %.6g, recorded %.6g", s.At.Index, s.At, s.Got, s.Want),
			Hints: []string{"every other value agrees as float sums do, so no weight and no operation is wrong: a defect of that value, in the recording or in one output row of the head"}}
	}
	if s == nil || s.Values == 0 || math.Sqrt(s.NMSE()) <= x.rel {
		return Diagnosis{Where: fmt.Sprintf("no tensor diverges by more than %.3g of its size", x.rel)}
	}
	g := Diagnosis{Where: "logits diverge: " + s.String()}
	hint := func(format string, a ...any) { g.Hints = append(g.Hints, fmt.Sprintf(format, a...)) }
	if len(x.diffs) > 0 {
		hint("every recorded state tensor agrees, the last is %s: what comes after it, the last norm, the output matrix (tied or not), a soft-cap or scale of the logits", short(x.diffs[len(x.diffs)-1].Name))
	} else {
		hint("no hidden or key/value state was compared: record with nodes and state to find the first diverging tensor")
	}
	if scale, rest := s.sum.scale(); rest < math.Sqrt(s.NMSE())/8 && math.Abs(scale-1) > x.rel/2 {
		hint("our logits are the recorded ones times %.6g: a logit scale", scale)
	}
	if s.Differ == 1 {
		hint("a single logit differs, id %d at %s: a defect of that value, in the recording or in one output row", s.First.Index, s.First)
	}
	return g
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(len(x), 1))
}
