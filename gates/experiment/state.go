package experiment

import (
	"reflect"

	"assay/gates/bench"
	"assay/gates/sampling"
	"assay/gates/verdict"
	"assay/kernels/arith"
)

// State is where an experiment stands on this machine.
type State struct {
	*Definition
	Record  *Record // the newest run here; nil: none
	Word    string  // never run, interrupted, a verdict, or edited or stale with what was found then
	Verdict verdict.Verdict
	Why     string   // why the word is not that of the verdict
	Runs    int      // finished here with this text
	Others  []string // verdicts of other machines, which decide nothing here
}

// Words of states that are no verdict.
const (
	NeverRun    = "never run"
	Interrupted = "interrupted"
	Edited      = "edited"
)

// State finds out where an experiment stands, from records of one or more stores.
func (r *Runner) State(d *Definition, records []*Record) *State {
	s := &State{Definition: d, Word: NeverRun}
	for _, rec := range records {
		if rec.Registration.Machine.ID() != r.Machine.ID() {
			if rec.Outcome != nil && rec.Outcome.Judgement != nil {
				s.Others = append(s.Others, string(rec.Outcome.Verdict)+" on "+rec.Registration.Machine.CPU)
			}
			continue
		}
		if rec.Outcome != nil && rec.Registration.SHA256 == d.SHA256 {
			s.Runs++
		}
		if s.Record == nil || !rec.Begun.Before(s.Record.Begun) {
			s.Record = rec
		}
	}
	rec := s.Record
	switch {
	case rec == nil:
		return s
	case rec.Outcome == nil || rec.Outcome.Judgement == nil:
		s.Word = Interrupted
		return s
	}
	s.Verdict, s.Word = rec.Outcome.Verdict, string(rec.Outcome.Verdict)
	if rec.Registration.SHA256 != d.SHA256 {
		s.Verdict, s.Word, s.Why = verdict.Stale, Edited, "the file is not the one that was registered; the verdict then was "+string(rec.Outcome.Verdict)
	} else if what := r.changed(d, rec.Registration); what != "" {
		s.Verdict, s.Word, s.Why = verdict.Stale, string(verdict.Stale), "recorded for another "+what+"; the verdict then was "+string(rec.Outcome.Verdict)
	}
	return s
}

// changed names what a record was made for and that is no longer there.
func (r *Runner) changed(d *Definition, reg *Registration) string {
	if reg.Contract != arith.ContractVersion {
		return "contract"
	}
	if want := d.Fixture.SHA256; want != "" && reg.Fixture.SHA256 != want {
		return "fixture"
	}
	self, err := r.binary(r.Command)
	if err != nil {
		return "" // cannot be told
	}
	if d.Baseline.Revision == "" && reg.Binaries.Baseline != self || d.Candidate.Revision == "" && reg.Binaries.Candidate != self {
		return "binary"
	}
	return ""
}

// Current tells whether the newest record answers the question as it is now.
func (s *State) Current() bool {
	return s.Record != nil && s.Record.Outcome != nil && s.Record.Outcome.Judgement != nil && s.Why == ""
}

func (r *Runner) tell(d *Definition, rec *Record) {
	if r.Progress == nil {
		return
	}
	pairs := sampling.Decisive(rec.Pairs)
	p := Progress{Experiment: d.Name, Noise: reflect.DeepEqual(d.Baseline, d.Candidate), Pairs: len(pairs), Most: d.Plan().Most(), Target: d.Target, Last: &rec.Pairs[len(rec.Pairs)-1]}
	for _, n := range d.Pairs {
		if p.Of = n; n >= len(pairs) {
			break
		}
	}
	if a := Set(d.Name, d.Target, []string{d.Target}, nil, pairs).Samples[d.Target]; len(a.A) == len(a.B) && len(a.A) > 0 {
		if e, err := interval(a); err == nil {
			p.Interval = verdict.Interval{Ratio: e.Value, Low: e.Low, High: e.High, Pairs: len(pairs)}
		}
	}
	r.Progress(p)
}

func seconds(timings []bench.Timing) (sum float64) {
	for _, t := range timings {
		sum += t.Seconds
	}
	return sum
}
