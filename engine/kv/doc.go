// Package kv holds the key/value state of one session: for each layer and
// key/value head the memory that kernels/attention reads, and snapshots of it.
// It must not know how keys and values are computed or used.
package kv
