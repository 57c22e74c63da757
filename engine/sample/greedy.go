package sample

import "errors"

// ErrNoNumber is the error for a row in which no logit can win: it is empty, or
// every logit is NaN.
var ErrNoNumber = errors.New("sample: no logit is a number")

// Greedy gives the id of the largest logit, the lowest id of equals. NaN never
// wins over a number, and -0 equals +0.
func Greedy(logits []float32) (int32, error) {
	best := -1
	for i, x := range logits {
		if x == x && (best < 0 || x > logits[best]) {
			best = i
		}
	}
	if best < 0 {
		return -1, ErrNoNumber
	}
	return int32(best), nil
}
