// Package compare holds one build of the harness against another: the verdicts of
// their gates, their golden bits, and their complete phases in interleaved pairs
// of fresh processes. It must not know where the programs come from, how pairs are
// taken (gates/sampling) or by which rules they are judged (gates/verdict).
package compare
