package bisect

import (
	"fmt"
	"strconv"
	"strings"

	"assay/engine"
	"assay/engine/decoder"
	"assay/engine/kv"
	"assay/kernels/cpu"
)

// Setup is one way to compute. The zero value is what a user gets.
type Setup struct {
	CPU         string `json:"cpu,omitempty"`
	Threads     int    `json:"threads,omitempty"`
	Chunk       int    `json:"chunk,omitempty"` // prompt in pieces of this many ids; 1: id by id as when decoding
	Activations string `json:"activations,omitempty"`
	KV          string `json:"kv,omitempty"`
	Tuning      string `json:"tuning,omitempty"`
	Revision    string `json:"revision,omitempty"` // git revision whose program computes; "": this one

	// Alter seeds a fault; for tests.
	Alter func(*decoder.Spec) `json:"-"`
}

// SetupError is a setup that cannot be.
type SetupError struct{ Text, Reason string }

func (e *SetupError) Error() string { return fmt.Sprintf("setup %q: %s", e.Text, e.Reason) }

// ParseSetup reads "key=value,...": cpu, threads, chunk, activations, kv, revision,
// and the knobs of decoder.ParseTuning.
func ParseSetup(text string) (*Setup, error) {
	s := &Setup{}
	var knobs []string
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "":
			if text != "" {
				err = fmt.Errorf("%q is no key=value", part)
			}
		case "cpu":
			s.CPU = value
		case "threads":
			s.Threads, err = count(part, value)
		case "chunk":
			s.Chunk, err = count(part, value)
		case "activations":
			s.Activations = value
		case "kv":
			s.KV = value
		case "revision":
			if s.Revision = value; value == "" {
				err = fmt.Errorf("%q names none", part)
			}
		default:
			knobs = append(knobs, part)
		}
		if err != nil {
			return nil, &SetupError{text, err.Error()}
		}
	}
	s.Tuning = strings.Join(knobs, ",")
	if err := s.check(); err != nil {
		return nil, &SetupError{text, err.Error()}
	}
	return s, nil
}

func count(part, value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: want a number from 1", part)
	}
	return n, nil
}

func (s *Setup) check() error {
	if s.Revision == "" {
		if _, err := cpu.Parse(s.CPU); err != nil {
			return err
		}
	} else if s.Tuning != "" {
		return fmt.Errorf("knobs are for this program, not for revision %s", s.Revision)
	}
	_, err := s.options()
	if err == nil {
		_, err = s.format()
	}
	return err
}

func (s *Setup) options() (engine.Options, error) {
	a, err := engine.ParseActivations(s.Activations)
	if err != nil {
		return engine.Options{}, err
	}
	t, err := decoder.ParseTuning(s.Tuning)
	if err != nil {
		return engine.Options{}, fmt.Errorf("%w; besides knobs there are cpu, threads, chunk, activations, kv and revision", err)
	}
	return engine.Options{Threads: s.Threads, Activations: a, CPU: s.CPU, Tuning: t, Alter: s.Alter}, nil
}

func (s *Setup) format() (kv.Type, error) {
	for _, t := range []kv.Type{kv.F16, kv.F32} {
		if s.KV == "" || s.KV == t.String() {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown K/V format %q (f16, f32)", s.KV)
}

// String is what ParseSetup reads; "defaults" when nothing is set.
func (s *Setup) String() string {
	var parts []string
	add := func(key, value string) {
		if value != "" && value != "0" {
			parts = append(parts, key+"="+value)
		}
	}
	add("revision", s.Revision)
	add("cpu", s.CPU)
	add("threads", strconv.Itoa(s.Threads))
	add("chunk", strconv.Itoa(s.Chunk))
	add("activations", s.Activations)
	add("kv", s.KV)
	if s.Tuning != "" {
		parts = append(parts, s.Tuning)
	}
	if len(parts) == 0 {
		return "defaults"
	}
	return strings.Join(parts, ",")
}
