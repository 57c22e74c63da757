// Package bisect finds the first tensor, in the order of computation, in which two
// runs over the same ids differ: two setups of this engine, another revision of it,
// or what another engine recorded. It makes a reproducer of what it finds. It must
// not know why somebody compares, or which difference is allowed.
package bisect
