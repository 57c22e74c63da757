// Package stats condenses repeated measurements: medians with confidence
// intervals that assume nothing about the distribution. The statistics are those
// of golang.org/x/perf/benchmath, so that plain benchstat tells the same of the
// same samples. The package must not know what was measured.
package stats
