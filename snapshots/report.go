package snapshots

import "time"

// Verdict is what became of one check.
type Verdict string

const (
	Held    Verdict = "held"
	Failed  Verdict = "failed"
	Void    Verdict = "void"          // the question could not be answered
	Skipped Verdict = "skipped"       // not asked for
	Missing Verdict = "not available" // a peer, library or model is not there
)

// Result is one check of one gate.
type Result struct {
	Gate      string  `json:"gate"`
	Check     string  `json:"check"`             // ids, logits, hidden, kv, decode, chunks, ...
	Fixture   string  `json:"fixture,omitempty"` // checkpoint and recording
	Phase     string  `json:"phase,omitempty"`   // load, prompt, decode, restore
	Rung      string  `json:"rung,omitempty"`    // bits, ids, ulp, nmse, topk, kl
	Value     string  `json:"value"`             // what was measured, with its unit
	Tolerance string  `json:"tolerance,omitempty"`
	Why       string  `json:"why,omitempty"` // the reason for the size of the tolerance
	Verdict   Verdict `json:"verdict"`
	Detail    string  `json:"detail,omitempty"` // on failure: what differs, where, what to look at
	Seconds   float64 `json:"seconds"`
	Case      int     `json:"case,omitempty"` // place of the case in the whole run, from 1; in shards
}

// Report is one run of the harness.
type Report struct {
	Format  string    `json:"format"` // assay-report/1
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Command string    `json:"command"`
	Version string    `json:"version"` // of this tree
	Machine Machine   `json:"machine"`
	Results []Result  `json:"results"`
	Bench   *Bench    `json:"bench,omitempty"`

	// Of a shard, so that a merge can tell whether all belong together and none is
	// missing: which it is, from 1, and of how many; the cases it had to do and did.
	Shard       int    `json:"shard,omitempty"`
	Shards      int    `json:"shards,omitempty"`
	Cases       int    `json:"cases,omitempty"`
	Done        int    `json:"cases_done,omitempty"`
	CasesSHA256 string `json:"cases_sha256,omitempty"` // of the names of all cases of the whole run
	Revision    string `json:"revision,omitempty"`     // full hash, or the program's own where it was built with changes

	// Of a snapshot.
	Name        string       `json:"name,omitempty"`       // in its store
	MachineID   string       `json:"machine_id,omitempty"` // only snapshots of one machine are compared
	Identity    []Field      `json:"identity,omitempty"`   // of the machine, in detail
	Benches     []*Bench     `json:"benches,omitempty"`    // more of them than one
	Kernels     []Kernel     `json:"kernels,omitempty"`
	Experiments []Experiment `json:"experiments,omitempty"`
	// Sources are hashes of what each entry point or gate was measured on.
	Sources    map[string]string `json:"sources,omitempty"`
	Notes      []string          `json:"notes,omitempty"`
	Superseded *Superseded       `json:"superseded,omitempty"`
}

// ReportFormat is the value of Report.Format.
const ReportFormat = "assay-report/1"

// Count tells how many results have a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for i := range r.Results {
		if r.Results[i].Verdict == v {
			n++
		}
	}
	return n
}

// ExitStatus is 1 when something failed, 2 when nothing failed but something
// could not be answered or nothing was asked, 0 when all held. Skipped and
// missing peers are printed and do not count as held. A shard to which no case
// fell has nothing to answer.
func (r *Report) ExitStatus() int {
	switch {
	case r.Count(Failed) > 0:
		return 1
	case r.Count(Void) > 0 || r.Count(Held) == 0 && (r.Shard == 0 || r.Cases > 0):
		return 2
	}
	return 0
}
