package gates

import (
	"fmt"
	"slices"
	"strings"

	"assay/engine"
	"assay/engine/checkpoint"
	"assay/engine/kv"
	"assay/oracle"
)

// Asked is what a user asks of a recording instead of what it is held to by
// itself; zero values ask for nothing else.
type Asked struct {
	Rung        string // name of a rung
	Activations string
	KV          string
	MaxAbs      float64
	MeanKL      float64
	Top1        float64
	Margin      float64
	StepByStep  bool // feed produced ids one by one instead of with the prompt
}

// ForRecording gives the gates for a recording of a real model: those that are
// built in for its checkpoint and engine, else one whose rung follows from who
// recorded it and from the formats of the weights.
func ForRecording(model, evidence string, a Asked) ([]Definition, error) {
	m, err := oracle.LoadManifest(evidence)
	if err != nil {
		return nil, err
	}
	if a == (Asked{}) || a == (Asked{StepByStep: true}) {
		known, err := knownRecording(m, !a.StepByStep)
		if err != nil || len(known) > 0 {
			return known, err
		}
	}
	c, err := checkpoint.Open(model)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	k, err := a.check(m, c)
	if err != nil {
		return nil, err
	}
	d := Definition{
		Name: "parity", Kind: Parity, About: "the recording that the user names", Phases: []string{engine.PhasePrompt, engine.PhaseDecode},
		Activations: []string{first(a.Activations, word(m.Compute.Activations, "int8", "float32"), engine.Int8.String())},
		KV:          []string{first(a.KV, strings.ToLower(word(m.Compute.KVTypes, "f32", "f16")), kv.F32.String())},
		Batch:       !a.StepByStep, Diverges: divergesAt(k.Rung), Checks: checksFor(k, m),
	}
	return []Definition{d}, nil
}

// knownRecording gives the built-in gates for a checkpoint and an engine.
func knownRecording(m *oracle.Manifest, batch bool) ([]Definition, error) {
	all, err := Load(OnReal)
	if err != nil {
		return nil, err
	}
	var known []Definition
	for _, d := range all {
		if d.For == nil || !strings.EqualFold(d.For.Engine, m.Engine.Name) {
			continue
		}
		for _, sum := range m.Checkpoint.Hashes() {
			if sum == d.For.Checkpoint {
				d.Batch = batch
				known = append(known, d)
				break
			}
		}
	}
	return known, nil
}

// check chooses a rung and its tolerance.
func (a *Asked) check(m *oracle.Manifest, c *checkpoint.Checkpoint) (Check, error) {
	rung := oracle.KL
	switch {
	case a.Rung != "":
		r, err := oracle.ParseRung(a.Rung)
		if err != nil {
			return Check{}, err
		}
		rung = r
	case m.Engine.Name == recorderName:
		rung = oracle.Bits
	case floatOnly(m, c):
		rung = oracle.NMSE
	}
	k := standard[rung]
	k.What = "logits"
	k.Rung = rung
	for _, x := range []struct {
		to    *float64
		asked float64
	}{{&k.MaxAbs, a.MaxAbs}, {&k.MeanKL, a.MeanKL}, {&k.Top1, a.Top1}, {&k.Margin, a.Margin}} {
		if x.asked > 0 {
			*x.to = x.asked
			k.Why = "asked for on the command line"
		}
	}
	return k, nil
}

// recorderName is how this engine signs its recordings.
const recorderName = "assay"

// standard is what each rung asks when nothing else is known.
var standard = map[oracle.Rung]Check{
	oracle.Bits:    {Why: "the arithmetic contract: the same ids give the same bits in every build of one contract version"},
	oracle.IDs:     {Why: "the same choice at every row, whatever its margin"},
	oracle.ULP:     {Tolerance: oracle.Tolerance{MaxULP: 256}, Why: "a few hundred units in the last place are what other orders of the same float32 sums give"},
	oracle.NMSE:    {Tolerance: oracle.Tolerance{MaxAbs: 2e-3}, Why: "two orders of the same float32 sums differ by 1e-5 in tiny models; thirty layers amplify that a hundredfold"},
	oracle.TopKSet: {Tolerance: oracle.Tolerance{TopK: 10, TopKShare: 0.5}, Why: "the tenth and eleventh logits are often a near tie: half of the rows keep the same set of ten"},
	oracle.KL: {Tolerance: oracle.Tolerance{MeanKL: 1e-2, Top1: 0.93, Margin: 1.5},
		Why: "legal configurations of one engine on three real 4-bit models lie up to 1.04e-2 apart, choose the same id on 95.2 % of the rows or more, and flip at margins up to 1.35"},
}

// floatOnly tells whether both sides computed in float32 from the same values.
func floatOnly(m *oracle.Manifest, c *checkpoint.Checkpoint) bool {
	if quantised(c.Tensors()) || !strings.Contains(string(m.Compute.DType), "float32") {
		return false
	}
	return !strings.Contains(string(m.Compute.DType), "int8")
}

// checksFor spreads one tolerance over what the recording holds.
func checksFor(k Check, m *oracle.Manifest) []Check {
	list := []Check{k}
	if k.Rung != oracle.Bits {
		return list
	}
	for name := range m.TensorSHA256 {
		switch kindOf(name) {
		case "hidden":
			k.What = "hidden"
		case "k":
			k.What = "kv"
		default:
			continue
		}
		if !slices.ContainsFunc(list, func(c Check) bool { return c.What == k.What }) {
			list = append(list, k)
		}
	}
	slices.SortStableFunc(list, func(a, b Check) int { return -strings.Compare(a.What, b.What) })
	return list
}

// divergesAt is the relative RMS from which a diagnosis calls a state divergent.
func divergesAt(r oracle.Rung) float64 {
	switch r {
	case oracle.Bits:
		return 1e-7
	case oracle.ULP, oracle.NMSE:
		return 1e-4
	}
	return 0.05
}

// word finds the first of the words in a text.
func word(t oracle.Text, words ...string) string {
	for _, w := range words {
		if strings.Contains(strings.ToLower(string(t)), w) {
			return w
		}
	}
	return ""
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// String is the tolerance in words, for listings.
func (k *Check) String() string { return fmt.Sprintf("%s: %s", k.What, describe(k.Tolerance)) }
