package oracle

import (
	"fmt"
	"strings"
)

// KeyOrder is how the elements of a key are ordered, which follows from how the rotary embedding pairs them.
type KeyOrder int

// Orders of the elements of a key vector of d elements.
const (
	UnknownOrder KeyOrder = iota
	Adjacent              // pairs (2i, 2i+1): GGUF files of the llama family
	Halves                // pairs (i, i+d/2): Hugging Face checkpoints and all other GGUF files
)

func (o KeyOrder) String() string { return [...]string{"unknown", "adjacent", "halves"}[o] }

// KeyOrder reads the order from key_order or, on recordings of other recorders, from what they say in words.
func (m *Manifest) KeyOrder() (KeyOrder, error) {
	switch m.KeyOrderName {
	case "adjacent":
		return Adjacent, nil
	case "halves":
		return Halves, nil
	case "":
	default:
		return UnknownOrder, fmt.Errorf("%.40q is neither adjacent nor halves", m.KeyOrderName)
	}
	words := string(m.Compute.RopeType)
	for _, s := range m.Tensors {
		words += "\n" + s
	}
	words = strings.ToLower(words)
	for _, s := range []string{"adjacent pairs", "pairs 2i, 2i+1", "pairs neighbours"} {
		if strings.Contains(words, s) {
			return Adjacent, nil
		}
	}
	for _, s := range []string{"halves pair", "(i, i+", "(i, i +", "pairs dimension i with i +", "pairs i, i+"} {
		if strings.Contains(words, s) {
			return Halves, nil
		}
	}
	return UnknownOrder, nil
}

// AdjacentToHalves reorders key vectors of headDim elements: out[j] = in[2j], out[d/2+j] = in[2j+1].
func AdjacentToHalves(k []float32, headDim int) []float32 {
	out, half := make([]float32, len(k)), headDim/2
	for at := 0; at+headDim <= len(k); at += headDim {
		for j := range half {
			out[at+j], out[at+half+j] = k[at+2*j], k[at+2*j+1]
		}
	}
	return out
}

// HalvesToAdjacent is the inverse of AdjacentToHalves.
func HalvesToAdjacent(k []float32, headDim int) []float32 {
	out, half := make([]float32, len(k)), headDim/2
	for at := 0; at+headDim <= len(k); at += headDim {
		for j := range half {
			out[at+2*j], out[at+2*j+1] = k[at+j], k[at+half+j]
		}
	}
	return out
}

// Reorder gives k in the order to; unknown orders are left as they are.
func Reorder(k []float32, headDim int, from, to KeyOrder) []float32 {
	switch {
	case from == Adjacent && to == Halves:
		return AdjacentToHalves(k, headDim)
	case from == Halves && to == Adjacent:
		return HalvesToAdjacent(k, headDim)
	}
	return k
}
