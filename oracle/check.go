package oracle

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var promptTensor = regexp.MustCompile(`^p(\d+)\.(.+)$`)

// checkTensors holds the tensors of all prompts to their shapes and to each other.
func (e *Evidence) checkTensors() error {
	if len(e.Manifest.Prompts) == 0 {
		return nil
	}
	e.vocab = e.Manifest.Checkpoint.Vocab
	known := map[string]bool{}
	for i := range e.Manifest.Prompts {
		known[e.Manifest.prefix(i)] = true
	}
	for _, name := range e.Names() {
		if p := promptTensor.FindStringSubmatch(name); p != nil && !known["p"+p[1]+"."] {
			return &RefusedError{Tensor: name, Reason: "belongs to no prompt of the manifest"}
		}
	}
	for i := range e.Manifest.Prompts {
		if err := e.checkPromptTensors(i); err != nil {
			if r, ok := err.(*RefusedError); ok && r.Prompt == "" {
				r.Prompt = e.Manifest.Prompts[i].Name
			}
			return err
		}
	}
	if e.vocab > 0 {
		return e.checkIDs()
	}
	return nil
}

// checkIDs holds the ids to a vocabulary that only the logits told.
func (e *Evidence) checkIDs() error {
	for i := range e.Manifest.Prompts {
		p := &e.Manifest.Prompts[i]
		for _, ids := range [][]int32{p.IDs, p.Produced} {
			for j, id := range ids {
				if int(id) >= e.vocab {
					return &RefusedError{Prompt: p.Name, Field: fmt.Sprintf("prompts[%d]", i), Reason: fmt.Sprintf("id %d at %d, the logits have %d columns", id, j, e.vocab)}
				}
			}
		}
	}
	return nil
}

func (e *Evidence) checkPromptTensors(i int) error {
	if err := e.checkLogits(i); err != nil {
		return err
	}
	if err := e.checkTop(i); err != nil {
		return err
	}
	pre, rows, hidden := e.Manifest.prefix(i), e.Manifest.Prompts[i].Rows(), 0
	for _, name := range e.Names() {
		t := e.Tensors[name]
		part, mine := strings.CutPrefix(name, pre)
		switch {
		case !mine:
		case strings.HasPrefix(part, "hidden."):
			if err := want(t, F32, rows, -1); err != nil {
				return err
			}
			if hidden == 0 {
				hidden = t.Shape[1]
			}
			if t.Shape[1] != hidden {
				return &RefusedError{Tensor: name, Reason: fmt.Sprintf("%d wide, other hidden states are %d", t.Shape[1], hidden)}
			}
		case strings.HasPrefix(part, "k.L"), strings.HasPrefix(part, "v.L"):
			if err := e.checkKV(i, part); err != nil {
				return err
			}
		case strings.HasPrefix(part, "node.") && len(t.Shape) == 0:
			return &RefusedError{Tensor: name, Reason: "is a single value, a named intermediate has a row for each id"}
		}
	}
	return nil
}

// want checks type and shape; -1 stands for any positive size.
func want(t *Tensor, d DType, shape ...int) error {
	ok := t.DType == d && len(t.Shape) == len(shape)
	if ok {
		for i, n := range shape {
			ok = ok && (t.Shape[i] == n || n < 0 && t.Shape[i] > 0)
		}
	}
	if ok {
		return nil
	}
	text := strings.NewReplacer("-1", "any", " ", ", ").Replace(fmt.Sprint(shape))
	got := strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", ")
	return &RefusedError{Tensor: t.Name, Reason: fmt.Sprintf("is %s %s, the prompt asks for %s %s", t.DType, got, d, text)}
}

func (e *Evidence) checkLogits(i int) error {
	p := &e.Manifest.Prompts[i]
	rows, width := p.Rows(), -1
	if e.vocab > 0 {
		width = e.vocab
	}
	if sel := e.Tensor(i, "logits.rows"); sel != nil {
		if err := want(sel, I32, -1); err != nil {
			return err
		}
		list, err := sel.Int32s()
		if err != nil {
			return &RefusedError{Tensor: sel.Name, Err: err}
		}
		for j, r := range list {
			if r < 0 || int(r) >= rows || j > 0 && r <= list[j-1] {
				return &RefusedError{Tensor: sel.Name, Reason: fmt.Sprintf("row %d at %d: rows ascend from 0 to %d", r, j, rows-1)}
			}
		}
		rows = len(list)
		if e.Tensor(i, "logits") == nil {
			return &RefusedError{Tensor: sel.Name, Reason: "there are no logits to select from"}
		}
	}
	for _, t := range []struct {
		name string
		rows int
	}{{"logits", rows}, {"logits_tail", p.Rows() - len(p.IDs) + 1}} {
		x := e.Tensor(i, t.name)
		if x == nil {
			continue
		}
		if err := want(x, F32, t.rows, width); err != nil {
			return err
		}
		e.vocab, width = x.Shape[1], x.Shape[1]
	}
	return nil
}

func (e *Evidence) checkKV(i int, part string) error {
	t := e.Tensor(i, part)
	if err := want(t, F32, -1, -1, -1); err != nil {
		return err
	}
	kind, layer := part[:1], part[3:]
	if _, err := strconv.ParseUint(layer, 10, 16); err != nil {
		return &RefusedError{Tensor: t.Name, Reason: fmt.Sprintf("%q is not a layer", layer)}
	}
	rows := e.Manifest.Prompts[i].Rows()
	if t.Shape[1] > rows {
		return &RefusedError{Tensor: t.Name, Reason: fmt.Sprintf("%d positions, only %d ids were fed", t.Shape[1], rows)}
	}
	other := map[string]string{"k": "v", "v": "k"}[kind]
	o := e.Tensor(i, other+".L"+layer)
	if o == nil {
		return &RefusedError{Tensor: t.Name, Reason: fmt.Sprintf("without %s.L%s", other, layer)}
	}
	if len(o.Shape) == 3 && (o.Shape[0] != t.Shape[0] || o.Shape[1] != t.Shape[1]) {
		return &RefusedError{Tensor: t.Name, Reason: fmt.Sprintf("shape %v, %s has %v", t.Shape, o.Name, o.Shape)}
	}
	if at := e.Manifest.KVPositions["L"+layer]; i == 0 && at != nil {
		if len(at) != 2 || at[0] < 0 || at[1] >= rows || at[1]-at[0]+1 != t.Shape[1] {
			return &RefusedError{Tensor: t.Name, Reason: fmt.Sprintf("%d positions, kv_positions says %v of %d", t.Shape[1], at, rows)}
		}
	}
	return nil
}

// FirstPosition is the first position that the state of a layer holds (later than 0 for a sliding window).
func (e *Evidence) FirstPosition(prompt, layer int) int {
	t := e.Tensor(prompt, fmt.Sprintf("k.L%d", layer))
	if t == nil {
		return 0
	}
	return e.Manifest.Prompts[prompt].Rows() - t.Shape[1]
}

// checkTop holds the rows of largest logits to their order, to their log-sum-exp and to whole rows where both are stored.
func (e *Evidence) checkTop(i int) error {
	idx, val, lse := e.Tensor(i, "top_idx"), e.Tensor(i, "top_val"), e.Tensor(i, "lse")
	if idx == nil && val == nil && lse == nil {
		return nil
	}
	for name, t := range map[string]*Tensor{"top_idx": idx, "top_val": val, "lse": lse} {
		if t == nil {
			return &RefusedError{Tensor: e.Manifest.prefix(i) + name, Reason: "missing: top_idx, top_val and lse go together"}
		}
	}
	rows := e.Manifest.Prompts[i].Rows()
	if err := want(val, F32, rows, -1); err != nil {
		return err
	}
	k := val.Shape[1]
	if err := want(idx, I32, rows, k); err != nil {
		return err
	}
	if err := want(lse, F32, rows); err != nil {
		return err
	}
	src := newRowSource(e, i)
	for r := range rows {
		row, err := src.row(r)
		if err != nil {
			return &RefusedError{Tensor: val.Name, Err: err}
		}
		if err := row.check(e.vocab, !e.anyTies); err != nil {
			return &RefusedError{Tensor: val.Name, Reason: fmt.Sprintf("row %d", r), Err: err}
		}
	}
	return nil
}

// check holds one row of top logits to itself. ordered asks that equal logits stand in the order of their ids.
func (w *Row) check(vocab int, ordered bool) error {
	seen := make(map[int32]bool, len(w.TopIndex))
	for j, id := range w.TopIndex {
		if id < 0 || vocab > 0 && int(id) >= vocab {
			return fmt.Errorf("top_idx %d at %d is outside of the vocabulary (%d)", id, j, vocab)
		}
		if seen[id] {
			return fmt.Errorf("top_idx %d twice", id)
		}
		seen[id] = true
		if j > 0 && (w.TopValue[j] > w.TopValue[j-1] || ordered && w.TopValue[j] == w.TopValue[j-1] && id < w.TopIndex[j-1]) {
			return fmt.Errorf("top_val at %d is not in order (descending, ties by lower id)", j)
		}
	}
	sum, last := LogSumExp(w.TopValue), float64(w.TopValue[len(w.TopValue)-1])
	slack := 1e-5 + 4e-7*math.Abs(w.LSE)
	if w.LSE < sum-slack {
		return fmt.Errorf("lse %v is below that of the top logits alone, %v", w.LSE, sum)
	}
	if rest := vocab - len(w.TopValue); vocab > 0 {
		// the other logits are at most the last one stored
		most := sum
		if rest > 0 {
			most += math.Log1p(float64(rest) * math.Exp(last-sum))
		}
		if w.LSE > most+slack {
			return fmt.Errorf("lse %v is above %v, the most that the top logits allow", w.LSE, most)
		}
	}
	if w.Logits == nil {
		return nil
	}
	for j, id := range w.TopIndex {
		if int(id) < len(w.Logits) && w.Logits[id] != w.TopValue[j] {
			return fmt.Errorf("top_val of id %d is %v, the whole row says %v", id, w.TopValue[j], w.Logits[id])
		}
	}
	if full := LogSumExp(w.Logits); math.Abs(full-w.LSE) > slack {
		return fmt.Errorf("lse %v, the whole row gives %v", w.LSE, full)
	}
	return nil
}
