package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Verdict is what becomes of a candidate.
type Verdict string

const (
	Retained  Verdict = "retained"
	Rejected  Verdict = "rejected"
	Level     Verdict = "level"
	Ambiguous Verdict = "ambiguous"
	Void      Verdict = "void"
	Stale     Verdict = "stale"
)

// Set is one comparison of a baseline A with a candidate B: pair i is A[i], B[i].
type Set struct {
	ID         string `json:"id"`
	Target     string `json:"target"`      // the phase that must improve
	NoiseFloor Floor  `json:"noise_floor"` // relative; what A/A runs of one binary differ by
	Parity     string `json:"parity"`      // ok, broken, unchecked

	Samples     map[string]Arms    `json:"samples"` // by phase
	Ceilings    map[string]Ceiling `json:"ceilings,omitempty"`
	Environment Environment        `json:"environment,omitzero"`
	Order       []string           `json:"order,omitempty"` // AB or BA per pair
}

// Arms are the seconds of one phase, and what each sample produced.
type Arms struct {
	A       []Number `json:"A"`
	B       []Number `json:"B"`
	TokensA []int    `json:"tokens_A,omitempty"`
	TokensB []int    `json:"tokens_B,omitempty"`
}

// Ceiling is what the machine can do at most: work of one sample and its rate.
type Ceiling struct {
	Work      float64 `json:"work"`
	Unit      string  `json:"unit"`
	PerSecond float64 `json:"per_second"`
}

// Environment is what is known of the circumstances.
type Environment struct {
	Before  map[string]any `json:"machine_before,omitempty"`
	After   map[string]any `json:"machine_after,omitempty"`
	Busy    bool           `json:"busy,omitempty"`
	Missing any            `json:"missing,omitempty"` // a fixture that was not there

	RecordedFor map[string]any `json:"recorded_for,omitempty"`
	Current     map[string]any `json:"current,omitempty"`
}

// Floor is one noise floor for all phases, or one per phase.
type Floor struct {
	All     float64
	ByPhase map[string]float64
}

// Of is the floor of a phase.
func (f Floor) Of(phase string) float64 {
	if v, ok := f.ByPhase[phase]; ok {
		return v
	}
	return f.All
}

// UnmarshalJSON reads a number, or an object of numbers by phase.
func (f *Floor) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, &f.ByPhase)
	}
	return json.Unmarshal(b, &f.All)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (f Floor) MarshalJSON() ([]byte, error) {
	if f.ByPhase != nil {
		return json.Marshal(f.ByPhase)
	}
	return json.Marshal(f.All)
}

// Number is a float64 that JSON may also spell null, "NaN", "Inf" or "-Inf".
type Number float64

// UnmarshalJSON reads a number or one of the spellings.
func (n *Number) UnmarshalJSON(b []byte) error {
	switch strings.Trim(string(b), `"`) {
	case "null", "NaN":
		*n = Number(math.NaN())
	case "Inf", "+Inf", "Infinity":
		*n = Number(math.Inf(1))
	case "-Inf", "-Infinity":
		*n = Number(math.Inf(-1))
	default:
		return json.Unmarshal(b, (*float64)(n))
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return json.Marshal(fmt.Sprint(f))
	}
	return json.Marshal(float64(n))
}

// File is a JSON file of sample sets.
type File struct {
	Format string `json:"format"`
	Cases  []Set  `json:"cases"`
}

// Parse reads a file of sample sets: an object with cases, or a bare list.
func Parse(b []byte) ([]Set, error) {
	var f File
	var list []Set
	target := any(&f)
	if s := strings.TrimSpace(string(b)); strings.HasPrefix(s, "[") {
		target = &list
	}
	if err := json.Unmarshal(b, target); err != nil {
		return nil, fmt.Errorf("verdict: %w", err)
	}
	if list == nil {
		list = f.Cases
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("verdict: no sample sets (want {\"cases\": [...]} or a list)")
	}
	return list, nil
}
