// Package experiment runs pre-registered experiments to a verdict. An experiment
// is a YAML file: a hypothesis, a baseline and a candidate, a workload, what must
// be preserved, which complete phase must improve and by how much, and at which
// numbers of pairs one may look. It is registered before it runs: the record holds
// the file with its SHA-256, the machine, the binaries, the fixture and the
// contract, so that an edit or a change shows later. Records are lines of JSON that
// are only ever appended, each on disk before the next sample is taken: a run that
// is killed loses the pair in progress and goes on from there.
//
// The package must not know how a sample is timed (gates/bench), how pairs are
// taken and looked at (gates/sampling) or by which rules they are judged
// (gates/verdict), and it does not render anything for people.
package experiment
