// Package matmul multiplies tiled weights with activations. The reference of
// each format is kernels/arith; this package holds the panels into which
// activations are packed, a portable implementation for every format, the
// generated ones for AVX2 and AVX-512, and the registry that tells which runs.
// It must not know of models, layers or threads.
package matmul
