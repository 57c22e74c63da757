package sample

import "slices"

// candidates is a set from which the largest are taken: by logit, ties by the
// lower id.
type candidates []candidate

func (a candidate) before(b candidate) bool {
	return a.logit > b.logit || a.logit == b.logit && a.id < b.id
}

func (c candidates) largest() float64 {
	largest := c[0].logit
	for _, x := range c[1:] {
		largest = max(largest, x.logit)
	}
	return largest
}

// selectLargest brings the k first in order to the front, sorted. One pass
// holds each candidate against the last of the k best so far, which lies at the
// root of a heap in reverse order.
func (c candidates) selectLargest(k int) {
	k = min(k, len(c))
	if k == 0 {
		return
	}
	best := c[:k]
	for i := k/2 - 1; i >= 0; i-- {
		best.sink(i)
	}
	for i := k; i < len(c); i++ {
		if c[i].before(best[0]) {
			best[0], c[i] = c[i], best[0]
			best.sink(0)
		}
	}
	slices.SortFunc(best, compare)
}

func compare(a, b candidate) int {
	if a.before(b) {
		return -1
	}
	return 1
}

// sink restores the reverse heap below i: a parent comes after its children.
func (c candidates) sink(i int) {
	top := c[i]
	for {
		next := 2*i + 1
		if next >= len(c) {
			break
		}
		if next+1 < len(c) && c[next].before(c[next+1]) {
			next++
		}
		if !top.before(c[next]) {
			break
		}
		c[i] = c[next]
		i = next
	}
	c[i] = top
}

// heap is a binary heap at the front of the candidates; what is popped goes
// behind it.
type heap struct {
	c    candidates
	size int
}

func (c candidates) newHeap() heap {
	h := heap{c, len(c)}
	for i := len(c)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	return h
}

// pop moves the first in order behind the heap and gives it.
func (h *heap) pop() candidate {
	h.size--
	h.c[0], h.c[h.size] = h.c[h.size], h.c[0]
	h.down(0)
	return h.c[h.size]
}

func (h *heap) down(i int) {
	c, top := h.c, h.c[i]
	for {
		next := 2*i + 1
		if next >= h.size {
			break
		}
		if next+1 < h.size && c[next+1].before(c[next]) {
			next++
		}
		if !c[next].before(top) {
			break
		}
		c[i] = c[next]
		i = next
	}
	c[i] = top
}

// popped brings the n candidates that were popped to the front, in order: they
// lie at the end, the first of them last.
func (c candidates) popped(n int) {
	for i := range n {
		j := len(c) - 1 - i
		if i >= j {
			break
		}
		c[i], c[j] = c[j], c[i]
	}
}
