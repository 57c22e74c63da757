// Package decoder is the one decoder-only transformer of assay. A Spec says
// what an architecture computes; small functions per family fill it; one
// forward pass reads it. The package owns tiled weights and the parallel jobs
// of a pass. It must not know of files beyond the checkpoint, of text, or of how
// requests are scheduled.
package decoder
