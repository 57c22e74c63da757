// Package mutation asks whether the tests of gates, statistics, verdicts and
// comparisons would notice if a check were taken out of them. mutations.yaml lists
// small textual changes, each with the tests that must fail because of it; a change
// reaches the compiler by an overlay, so the tree itself is never touched. It must
// not know what the changed code does.
package mutation
