// Package history keeps snapshots, and knows what should be in them: every
// benchmark entry point of this tree, with the sources that it measures, so that
// one can tell which were never run and which are stale.
//
// A store is a folder with a folder for each snapshot: snapshot.json for machines,
// snapshot.md for people, the samples in Go benchmark format, and pictures. The
// package must not know how phases are timed or how gates come to a verdict.
package history
