// Package attention computes softmax(q k) v of one key/value head for up to six
// queries at a time. The reference is kernels/arith; the package also fixes how
// keys and values lie in memory. It must not know of layers, sessions or
// threads.
package attention
