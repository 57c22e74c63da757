// Package shard splits the cases of a run into parts that several machines can
// carry out, and merges their reports into the one that a single run would have
// written. It must not know what a case does.
package shard
