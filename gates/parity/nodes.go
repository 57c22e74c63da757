package parity

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"assay/oracle"
)

// node is a named intermediate of a layer: our name, and the names of the same
// rows in recordings of llama.cpp, best first.
type node struct {
	name   string
	theirs []string // with %d for the layer
}

// nodes are the intermediates of a layer in the order of computation.
var nodes = []node{
	{"attn_norm", []string{"attn_norm-%d.mul"}},
	{"Qcur", []string{"Qcur-%d.rope"}},
	{"Kcur", []string{"Kcur-%d.rope"}},
	{"Vcur", []string{"Vcur-%d.add", "Vcur-%d.mul_mat"}},
	{"kqv_out", []string{"kqv_out-%d.cont"}},
	{"ffn_inp", []string{"ffn_inp-%d.add"}},
	{"ffn_norm", []string{"ffn_norm-%d.mul"}},
	{"ffn_gate_par", []string{"ffn_swiglu-%d.swiglu"}},
	{"ffn_out", []string{"ffn_out-%d.add", "ffn_out-%d.mul_mat"}},
}

// recordedNode is the name under which a recording keeps one of our nodes, empty
// when it does not.
func recordedNode(e *oracle.Evidence, prompt int, name string, layer int) string {
	i := slices.IndexFunc(nodes, func(n node) bool { return n.name == name })
	if i < 0 {
		return ""
	}
	for _, form := range append([]string{name + "-%d"}, nodes[i].theirs...) {
		full := fmt.Sprintf(form, layer)
		if e.Tensor(prompt, "node."+full) != nil {
			return full
		}
	}
	return ""
}

// place is where in the pass a recorded node lies: layer, then step.
func place(name string) (layer, step int) {
	_, rest, _ := strings.Cut(name, ".node.")
	rest, _, _ = strings.Cut(rest, ".")
	base, number, _ := strings.Cut(rest, "-")
	layer, _ = strconv.Atoi(number)
	step = slices.IndexFunc(nodes, func(n node) bool {
		return n.name == base || slices.ContainsFunc(n.theirs, func(t string) bool { return strings.HasPrefix(t, base+"-") })
	})
	return layer, step
}

// FirstNode is the first recorded intermediate, in the order of computation, that
// diverges in a prompt; nil when none was recorded or none does.
func (r *Result) FirstNode(prompt int) *oracle.Difference {
	var bad []*oracle.Difference
	for i := range r.State[prompt] {
		d := &r.State[prompt][i]
		if strings.Contains(d.Name, ".node.") && !(d.RelRMS() <= r.Diverges) {
			bad = append(bad, d)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return slices.MinFunc(bad, func(a, b *oracle.Difference) int {
		al, as := place(a.Name)
		bl, bs := place(b.Name)
		return cmp.Or(cmp.Compare(al, bl), cmp.Compare(as, bs))
	})
}
