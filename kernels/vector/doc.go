// Package vector holds the operations on single rows: RMSNorm, rotary
// embedding, gated activations, addition, narrowing to F16, and the rounding of
// activations into panels. The reference is kernels/arith. It must not know of
// matrices, layers or threads.
package vector
