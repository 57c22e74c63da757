package sampling

import (
	"time"

	"assay/gates/bench"
)

// Arm is one of the two sides.
type Arm struct {
	Process bench.Process
	Job     bench.Job
}

// Pair is one sample of each arm, taken one after the other.
type Pair struct {
	Index   int       `json:"index"`   // from 0
	Attempt int       `json:"attempt"` // from 0; a contaminated pair is repeated
	Order   string    `json:"order"`
	Started time.Time `json:"started"`

	A *bench.Sample `json:"a,omitempty"`
	B *bench.Sample `json:"b,omitempty"`

	Waited  float64 `json:"waited_s"`          // for the machine to be idle
	Foreign float64 `json:"foreign_cpu_s"`     // CPU time of others during the pair
	Had     float64 `json:"cpu_s"`             // CPU time that there was
	Marks   []Mark  `json:"marks,omitempty"`   // why the pair is contaminated; empty: it is clean
	Broken  string  `json:"broken,omitempty"`  // what shows that an arm computes something else
	InArm   string  `json:"in_arm,omitempty"`  // A or B: the arm that is broken by itself
	Distant float64 `json:"distance,omitzero"` // between the logits of the arms, where bits need not be equal
}

// Mark is one reason to distrust a pair.
type Mark string

// The marks.
const (
	MarkNotIdle Mark = "machine not idle before" // and it did not become so in time
	MarkForeign Mark = "other work during"
)

// Clean tells that nothing disturbed the pair.
func (p *Pair) Clean() bool { return len(p.Marks) == 0 }

// Decisive are the pairs that count: of each index the first clean attempt, or the
// last one where none was clean. Broken pairs count too. It stops before the first
// index that is missing.
func Decisive(all []Pair) []*Pair {
	var used []*Pair
	for i := range all {
		p := &all[i]
		switch {
		case p.Index == len(used):
			used = append(used, p)
		case p.Index == len(used)-1 && !used[p.Index].Clean():
			used[p.Index] = p
		}
	}
	return used
}
