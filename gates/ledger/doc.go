// Package ledger writes the ledgers at the root of the project from what they
// speak of: validation-gates.md from the definitions of the gates,
// backend-parity-matrix.md from the registries of the kernels and the gates, and
// benchmark-snapshot-queue.md from the benchmark entry points. What was found, and
// when, comes from the snapshots that are committed. The words around the tables
// are written by hand, in templates/. A ledger that no longer says what is true is
// stale, and CI fails on it.
//
// The registries hold the kernels of one architecture, so the matrix can be made
// and checked on amd64 only, the one with levels beside the portable one; the
// others are the same everywhere.
//
// The package must not run anything.
package ledger
