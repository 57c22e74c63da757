// Package sampling takes pairs of samples of two arms, a baseline A and a
// candidate B, so that their times may be compared: every sample is a fresh
// process, pairs are ordered A B B A with a seeded first, a first pair is dropped
// as warm-up, processes are pinned where the system can be told, other work on the
// machine is waited for before a pair and measured during it, and what both arms
// compute is compared in the timed run itself. It also says at which numbers of
// pairs one may look at the result, and how sure an interval must be there.
//
// It must not know why arms are compared, what is done with a verdict, or where
// pairs are kept.
package sampling
