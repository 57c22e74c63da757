package tokenizer

import "sync"

// merger is the scratch of one word: symbols as a doubly linked list, and a
// heap of the merges that are possible. A word of n characters costs
// O(n log n), also when it is a megabyte of one letter.
type merger struct {
	symbols []symbol
	heap    []candidate
}

type symbol struct {
	id         int32 // -1: merged into the one before
	prev, next int32 // -1 at the ends
}

type candidate struct {
	rank, at int32 // order
	id       int32 // what the pair at becomes
}

var mergers = sync.Pool{New: func() any { return new(merger) }}

// maxPooled bounds the scratch that stays alive after a long word.
const maxPooled = 1 << 12

func (w *merger) release() {
	if cap(w.symbols) <= maxPooled {
		mergers.Put(w)
	}
}

func (w *merger) reset() { w.symbols, w.heap = w.symbols[:0], w.heap[:0] }

func (w *merger) add(id int32) {
	n := int32(len(w.symbols))
	if n > 0 {
		w.symbols[n-1].next = n
	}
	w.symbols = append(w.symbols, symbol{id: id, prev: n - 1, next: -1})
}

func (w *merger) append(dst []int32) []int32 {
	for _, s := range w.symbols {
		if s.id >= 0 {
			dst = append(dst, s.id)
		}
	}
	return dst
}

func (w *merger) merge(merges map[uint64]merge) {
	for i := int32(0); int(i) < len(w.symbols)-1; i++ {
		w.offer(merges, i, i+1)
	}
	for len(w.heap) > 0 {
		c := w.pop()
		left := &w.symbols[c.at]
		if left.id < 0 || left.next < 0 {
			continue
		}
		right := &w.symbols[left.next]
		// Either side may have been merged since the pair was offered.
		if m, ok := merges[pair(left.id, right.id)]; !ok || m.id != c.id || m.rank != c.rank {
			continue
		}
		left.id, right.id = c.id, -1
		left.next = right.next
		if left.next >= 0 {
			w.symbols[left.next].prev = c.at
			w.offer(merges, c.at, left.next)
		}
		if left.prev >= 0 {
			w.offer(merges, left.prev, c.at)
		}
	}
}

func (w *merger) offer(merges map[uint64]merge, a, b int32) {
	if m, ok := merges[pair(w.symbols[a].id, w.symbols[b].id)]; ok {
		w.push(candidate{m.rank, a, m.id})
	}
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

func (w *merger) push(c candidate) {
	w.heap = append(w.heap, c)
	h := w.heap
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !c.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = c
}

func (w *merger) pop() candidate {
	h := w.heap
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	w.heap = h
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1].before(h[down]) {
			down++
		}
		if !h[down].before(last) {
			break
		}
		h[i] = h[down]
		i = down
	}
	if len(h) > 0 {
		h[i] = last
	}
	return top
}
