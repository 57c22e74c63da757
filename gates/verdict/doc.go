// Package verdict judges timing samples by rule: retained, rejected, level,
// ambiguous, void or stale, each with the rule that gave it, the numbers it
// rests on and a sentence for a person. It must not know how samples are taken.
package verdict
