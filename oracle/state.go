package oracle

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// State is what the engine under test holds after the last fed id of a prompt. Maps may be partial; recorded tensors that are
// not in them are passed over.
type State struct {
	// Hidden: "embed", "L0", "L1", ..., "final_norm" -> [rows][hidden]
	Hidden map[string][]float32
	// Keys and Values: layer -> [kv heads][positions][head dim], positions ending at the last fed id.
	Keys, Values map[int][]float32
	// KeyOrder is how the elements of Keys are ordered; they are reordered where the recording has the other order.
	KeyOrder KeyOrder
	// Nodes: further named tensors as recorded under node.NAME -> [rows][width]
	Nodes map[string][]float32
}

// CompareState compares a state with the recorded one of a prompt. The differences come in the order of computation: embedding,
// then for each layer keys, values and the hidden state after it, then the final norm, then nodes.
func CompareState(e *Evidence, prompt int, s State) ([]Difference, error) {
	var all []Difference
	for _, part := range stateParts(e, prompt) {
		got, layer := s.part(part)
		if got == nil {
			continue
		}
		d, err := compareTensor(e, prompt, part, layer, got, s.KeyOrder)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// part finds the tensor of that name; layer is -1 where it has none.
func (s *State) part(name string) (data []float32, layer int) {
	kind, rest, _ := strings.Cut(name, ".")
	layer = -1
	if n, err := strconv.Atoi(strings.TrimPrefix(rest, "L")); err == nil && kind != "node" {
		layer = n
	}
	switch kind {
	case "hidden":
		return s.Hidden[rest], layer
	case "k":
		return s.Keys[layer], layer
	case "v":
		return s.Values[layer], layer
	case "node":
		return s.Nodes[rest], layer
	}
	return nil, layer
}

// stateParts lists the recorded state tensors of a prompt in the order of computation.
func stateParts(e *Evidence, prompt int) []string {
	type item struct {
		name  string
		order [2]int
	}
	var items []item
	pre := e.Manifest.prefix(prompt)
	for _, full := range e.Names() {
		name, mine := strings.CutPrefix(full, pre)
		kind, rest, _ := strings.Cut(name, ".")
		step, known := map[string]int{"k": 0, "v": 1, "hidden": 2, "node": 3}[kind]
		if !mine || !known {
			continue
		}
		layer, err := strconv.Atoi(strings.TrimPrefix(rest, "L"))
		switch {
		case kind == "node":
			layer = 1 << 30
		case rest == "embed":
			layer = -1
		case err != nil:
			layer = 1 << 29
		}
		items = append(items, item{name, [2]int{layer, step}})
	}
	sort.SliceStable(items, func(i, j int) bool {
		a, b := items[i].order, items[j].order
		return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
	})
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = it.name
	}
	return names
}

func compareTensor(e *Evidence, prompt int, part string, layer int, got []float32, order KeyOrder) (Difference, error) {
	t := e.Tensor(prompt, part)
	want, err := t.Float32s()
	if err != nil {
		return Difference{}, err
	}
	l := Layout{Prompt: e.Manifest.Prompts[prompt].Name, Layer: layer, Positions: t.Shape[0], Width: 1}
	key := strings.HasPrefix(part, "k.")
	switch {
	case key || strings.HasPrefix(part, "v."):
		l.Heads, l.Positions, l.Width, l.First = t.Shape[0], t.Shape[1], t.Shape[2], e.FirstPosition(prompt, layer)
		if got, err = lastPositions(got, l); err != nil {
			return Difference{}, fmt.Errorf("oracle: %s: %w", t.Name, err)
		}
	case len(t.Shape) > 1:
		l.Width = t.Len() / max(t.Shape[0], 1)
	}
	theirs, _ := e.Manifest.KeyOrder()
	if key && theirs != UnknownOrder && order != UnknownOrder {
		got = Reorder(got, l.Width, order, theirs)
	}
	d, err := Compare(t.Name, got, want, l)
	if err == nil && key && d.Differ > 0 {
		d.Rotary = traceRotary(got, want, l, theirs)
	}
	return d, err
}

// lastPositions cuts [heads][n][width] to the last l.Positions positions.
func lastPositions(x []float32, l Layout) ([]float32, error) {
	if l.Heads*l.Width == 0 || len(x)%(l.Heads*l.Width) != 0 {
		return nil, fmt.Errorf("%d values do not divide into %d heads of width %d", len(x), l.Heads, l.Width)
	}
	n := len(x) / l.Heads / l.Width
	if n == l.Positions {
		return x, nil
	}
	if n < l.Positions {
		return nil, fmt.Errorf("%d positions, recorded are %d", n, l.Positions)
	}
	out := make([]float32, 0, l.Heads*l.Positions*l.Width)
	for h := range l.Heads {
		end := (h + 1) * n * l.Width
		out = append(out, x[end-l.Positions*l.Width:end]...)
	}
	return out, nil
}
