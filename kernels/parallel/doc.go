// Package parallel is the worker pool of the kernels: a parallel loop over
// chunks that costs well under a microsecond to start, does not collapse when
// another process wants a core, and uses no CPU when idle. It must not know
// what the chunks compute.
package parallel
