// Package sample chooses the next id from a row of logits: the largest one, or
// a draw from the distribution that is left after filtering.
//
// The same seed and logits give the same ids on every architecture: sums run in
// a fixed order, nothing is left to fused multiply-add, and the exponential is
// the package's own. It must not know of models or text.
package sample
