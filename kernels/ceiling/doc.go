// Package ceiling measures what a machine can do at most with a given set of
// instructions: how fast several threads read memory, and how many int8
// multiply-adds they finish when every operand is at hand. A benchmark of a
// whole phase is set against these figures. The package must not know of models
// or of phases.
package ceiling
