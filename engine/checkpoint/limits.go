package checkpoint

import (
	"fmt"
	"math"
)

// field is one size of the config under the name that the file gives it.
type field struct {
	name  string
	value int
}

// dims are the sizes that both kinds of config must give, by the file's names.
type dims struct {
	layers, hidden, heads, kvHeads, ffn, vocab, headDim field
}

// check refuses sizes that do not fit together. tensors is the number of
// tensors in the file: no model has more layers, so a claimed layer count sizes
// nothing.
func (d dims) check(tensors int) (name, reason string) {
	for _, f := range []field{d.layers, d.hidden, d.heads, d.kvHeads, d.ffn, d.vocab, d.headDim} {
		if f.value <= 0 {
			return f.name, fmt.Sprintf("is %d: out of range, it must be positive, not zero or negative", f.value)
		}
	}
	switch {
	case d.layers.value > tensors:
		return d.layers.name, fmt.Sprintf("is out of range: %d layers, but the file has %d tensors, so some are missing", d.layers.value, tensors)
	case d.heads.value%d.kvHeads.value != 0:
		return d.kvHeads.name, fmt.Sprintf("is %d, which does not divide %s = %d: it must be a multiple", d.kvHeads.value, d.heads.name, d.heads.value)
	case d.headDim.value%2 != 0:
		return d.headDim.name, fmt.Sprintf("is %d: rotary embedding needs an even head dimension", d.headDim.value)
	case d.heads.value > maxWidth/d.headDim.value:
		return d.heads.name, fmt.Sprintf("is %d with head dimension %d: out of range", d.heads.value, d.headDim.value)
	}
	return "", ""
}

// normEps narrows the epsilon of the norms, which the file may give in any width.
func normEps(x float64) (eps float32, reason string) {
	switch eps = float32(x); {
	case x < 0:
		return 0, fmt.Sprintf("is %v: negative, out of range", x)
	case math.IsInf(float64(eps), 0):
		return 0, fmt.Sprintf("is %v: out of range, a float32 does not hold it", x)
	}
	return eps, ""
}

const (
	maxDim   = 1<<31 - 1 // of any single size
	maxWidth = 1<<31 - 1 // heads times head dimension

	maxLayerList = 1 << 16 // elements of a per-layer list
)
