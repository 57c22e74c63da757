package snapshots

import "slices"

// Field is one named property.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Superseded marks a snapshot whose figures no longer count. It stays, with the
// reason.
type Superseded struct {
	By     string `json:"by,omitempty"` // name of the snapshot that replaces it
	Reason string `json:"reason"`
}

// Experiment is one pre-registered experiment and what became of it.
type Experiment struct {
	Name     string  `json:"name"`
	State    string  `json:"state"` // its verdict, or never run, interrupted, edited, stale
	Sentence string  `json:"sentence,omitempty"`
	Target   string  `json:"target"`          // the phase that must improve
	Ratio    float64 `json:"ratio,omitempty"` // baseline over candidate seconds, paired
	Low      float64 `json:"low,omitempty"`
	High     float64 `json:"high,omitempty"`
	Floor    float64 `json:"floor,omitempty"`
	Pairs    int     `json:"pairs,omitempty"`
	Run      string  `json:"run,omitempty"`
}

// AllBenches lists the benchmarks of a report.
func (r *Report) AllBenches() []*Bench {
	all := slices.Clone(r.Benches)
	if r.Bench != nil {
		all = append(all, r.Bench)
	}
	return all
}

// Title names a report: its name, or when and of what it was.
func (r *Report) Title() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Started.UTC().Format("2006-01-02 15:04:05 UTC") + ", version " + r.Version
}

// Unusable tells whether some measurement is void.
func (r *Report) Unusable() bool {
	return slices.ContainsFunc(r.AllBenches(), (*Bench).Void) || slices.ContainsFunc(r.Kernels, func(k Kernel) bool { return k.Void != "" })
}
