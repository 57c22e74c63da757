package experiment

import (
	"time"

	"assay/gates/sampling"
	"assay/gates/verdict"
)

// Registration is what is laid down before a run begins.
type Registration struct {
	Experiment string `json:"experiment"`
	SHA256     string `json:"sha256"` // of the experiment's file
	Text       string `json:"text"`   // of it

	Machine  Identity        `json:"machine"`
	Binaries Binaries        `json:"binaries"`
	Contract int             `json:"contract"` // version of the arithmetic contract
	Fixture  FixtureIdentity `json:"fixture"`
	Version  string          `json:"version"` // of this tree

	Looks []int              `json:"looks"`
	Alpha []float64          `json:"alpha"` // that each look may be wrong with
	Floor map[string]float64 `json:"noise_floor,omitempty"`
	Seed  uint64             `json:"seed"`
	Rules sampling.Rules     `json:"rules"`
	Cores []int              `json:"cores,omitempty"` // that samples are pinned to
}

// Binaries are the SHA-256s of the programs, and the revisions they were built of.
type Binaries struct {
	Baseline          string `json:"baseline"`
	Candidate         string `json:"candidate"`
	BaselineRevision  string `json:"baseline_revision,omitempty"`
	CandidateRevision string `json:"candidate_revision,omitempty"`
}

// FixtureIdentity is the checkpoint that ran.
type FixtureIdentity struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// resumes tells whether a run that was registered as r can go on as one that would
// now be registered as now.
func (r *Registration) resumes(now *Registration) bool {
	a, b := *r, *now
	a.Floor, b.Floor = nil, nil // the registered ones stay
	a.Version, b.Version = "", ""
	return hash(a) == hash(b)
}

// Outcome is how a run ended.
type Outcome struct {
	*verdict.Judgement
	Pairs        int     `json:"pairs"`        // that count
	Taken        int     `json:"taken"`        // with those that were repeated
	Contaminated int     `json:"contaminated"` // among those that count
	Confidence   float64 `json:"confidence"`   // of all intervals together at the deciding look
	Distance     float64 `json:"distance,omitempty"`
	Seconds      float64 `json:"seconds"` // of sampling, over all sessions of a resumed run
}

// Record is one run as far as it got.
type Record struct {
	Run          string
	Begun        time.Time
	Registration *Registration
	Pairs        []sampling.Pair
	Looks        []*sampling.Look
	Outcome      *Outcome // nil: unfinished
	Ended        time.Time
}

// Records sorts lines into runs, oldest first.
func Records(lines []Line) []*Record {
	var all []*Record
	byRun := map[string]*Record{}
	for i := range lines {
		l := &lines[i]
		if l.Registration != nil {
			byRun[l.Run] = &Record{Run: l.Run, Begun: l.At, Registration: l.Registration}
			all = append(all, byRun[l.Run])
			continue
		}
		r := byRun[l.Run]
		if r == nil {
			continue
		}
		switch {
		case l.Pair != nil:
			r.Pairs = append(r.Pairs, *l.Pair)
		case l.Look != nil:
			r.Looks = append(r.Looks, l.Look)
		case l.Outcome != nil:
			r.Outcome, r.Ended = l.Outcome, l.At
		}
	}
	return all
}
