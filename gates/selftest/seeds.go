package selftest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"assay/engine/decoder"
	"assay/fixtures"
	"assay/gates"
	timing "assay/gates/bench"
	"assay/gates/ledger"
	"assay/kernels/ceiling"
	"assay/snapshots"
)

// Faults are all that are seeded, the quick ones first.
func Faults() []Fault {
	return []Fault{
		{Name: "wrong logit in evidence", Where: "gate parity/llama-transformers", Expect: "failed", Status: 1, seed: wrongEvidence},
		{Name: "wrong logit of the engine", Where: "gates parity/llama-transformers, invariance/long", Expect: "failed", Status: 1, seed: wrongLogit},
		{Name: "flipped bit in a fixture", Where: "gate structure/llama-Q4_0", Expect: "failed", Status: 1, seed: flippedBit},
		{Name: "gate that cannot run", Where: "gate parity/llama-transformers", Expect: "void", Status: 2, seed: lostRecording},
		{Name: "gate that was skipped", Where: "report", Expect: "not held", Status: 2, seed: skippedGate},
		{Name: "stale ledger", Where: "ledgers --check", Expect: "stale", Status: 1, seed: staleLedger},
		{Name: "impossible figure", Where: "bench", Expect: "void", Status: 2, seed: impossible},
		{Name: "mechanism that does not run", Where: "experiment", Expect: "void", Status: 2, seed: idleMechanism},
		{Name: "experiment edited after its verdict", Where: "experiment", Expect: "edited", Status: 2, seed: edited},
		{Name: "kernels slower by 10 %", Where: "experiment", Expect: "rejected", Status: 1, seed: slow(0.10, shortLooks)},
		{Name: "kernels slower by 5 %", Where: "experiment", Expect: "rejected", Status: 1, seed: slow(0.05, shortLooks)},
		{Name: "kernels slower by 3 %", Where: "experiment", Expect: "rejected", Status: 1, seed: slow(0.03, moreLooks), Long: true},
		{Name: "kernels slower by 1 %", Where: "experiment", Expect: "rejected", Status: 1, seed: slow(0.01, moreLooks), Long: true},
	}
}

// gate runs one gate, or several, on the fixtures of a folder.
func gate(ctx context.Context, o gates.Options, names ...string) (Finding, error) {
	list, err := gates.Load(gates.OnFixtures)
	if err != nil {
		return Finding{}, err
	}
	o.Select = regexp.MustCompile("^(" + strings.Join(names, "|") + ")$")
	r, err := gates.Run(ctx, list, o)
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Answer: "held", Status: r.ExitStatus(), Detail: r.Summary()}
	for _, v := range []snapshots.Verdict{snapshots.Void, snapshots.Failed} {
		for _, x := range r.Results {
			if x.Verdict == v {
				f.Answer = string(v)
				f.Detail, _, _ = strings.Cut(x.Gate+" "+x.Check+": "+x.Detail, "\n")
				break
			}
		}
	}
	return f, nil
}

// fixtures writes them anew, so that they may be damaged.
func (b *bench) fixtures() (string, error) {
	dir, err := os.MkdirTemp(b.dir, "fixtures-")
	if err != nil {
		return "", err
	}
	return dir, fixtures.Materialise(dir)
}

func wrongEvidence(ctx context.Context, b *bench) (Finding, error) {
	dir, err := b.fixtures()
	if err != nil {
		return Finding{}, err
	}
	if err := addTo(filepath.Join(dir, "evidence", "llama", "evidence.safetensors"), "p1.logits", 5000, 0.5); err != nil {
		return Finding{}, err
	}
	return gate(ctx, gates.Options{Fixtures: dir}, "parity/llama-transformers")
}

// addTo adds x to an element of a tensor of float32 in a safetensors file.
func addTo(path, tensor string, element int, x float32) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var header map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	n := int(binary.LittleEndian.Uint64(b))
	if err := json.Unmarshal(b[8:8+n], &header); err != nil {
		return err
	}
	at := 8 + n + header[tensor].Offsets[0] + 4*element
	if _, ok := header[tensor]; !ok || at+4 > len(b) {
		return fmt.Errorf("selftest: %s has no element %d of %s", path, element, tensor)
	}
	binary.LittleEndian.PutUint32(b[at:], math.Float32bits(math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))+x))
	return os.WriteFile(path, b, 0o644)
}

// wrongLogit makes the engine compute its attention with a scale that is off by
// one part in a thousand.
func wrongLogit(ctx context.Context, _ *bench) (Finding, error) {
	return gate(ctx, gates.Options{Alter: func(s *decoder.Spec) { s.AttentionScale *= 1.001 }}, "parity/llama-transformers", "invariance/long")
}

func flippedBit(ctx context.Context, b *bench) (Finding, error) {
	dir, err := b.fixtures()
	if err != nil {
		return Finding{}, err
	}
	path := filepath.Join(dir, "models", "llama-Q4_0.gguf")
	raw, err := os.ReadFile(path)
	if err != nil {
		return Finding{}, err
	}
	raw[len(raw)-1000] ^= 1
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		return Finding{}, err
	}
	return gate(ctx, gates.Options{Fixtures: dir}, "structure/llama-Q4_0")
}

func lostRecording(ctx context.Context, b *bench) (Finding, error) {
	dir, err := b.fixtures()
	if err != nil {
		return Finding{}, err
	}
	// A recording whose manifest promises more than is there is refused.
	path := filepath.Join(dir, "evidence", "llama", "evidence.safetensors")
	if err := os.Truncate(path, 4096); err != nil {
		return Finding{}, err
	}
	return gate(ctx, gates.Options{Fixtures: dir}, "parity/llama-transformers")
}

// skippedGate asks what a report says in which nothing was carried out.
func skippedGate(context.Context, *bench) (Finding, error) {
	r := &snapshots.Report{Results: []snapshots.Result{{Gate: "parity/llama-transformers", Check: "logits", Verdict: snapshots.Skipped}}}
	f := Finding{Answer: "not held", Status: r.ExitStatus(), Detail: r.Summary()}
	if r.Count(snapshots.Held) > 0 || f.Status == 0 {
		f.Answer = "held"
	}
	return f, nil
}

func staleLedger(_ context.Context, b *bench) (Finding, error) {
	for _, l := range ledger.All() {
		err := l.Write(b.dir)
		if errors.Is(err, ledger.ErrElsewhere) {
			continue
		}
		if err != nil {
			return Finding{}, err
		}
		path := filepath.Join(b.dir, l.Name)
		raw, err := os.ReadFile(path)
		if err != nil {
			return Finding{}, err
		}
		raw[len(raw)/2] ^= 1
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			return Finding{}, err
		}
		stale, err := l.Stale(b.dir)
		if err != nil {
			return Finding{}, err
		}
		if stale == "" {
			return Finding{Answer: "up to date", Detail: l.Name}, nil
		}
		stale, _, _ = strings.Cut(stale, "\n")
		return Finding{Answer: "stale", Status: 1, Detail: l.Name + ": " + stale}, nil
	}
	return Finding{}, errors.New("selftest: no ledger can be made here")
}

// impossible claims a machine that is slower than what was measured on it.
func impossible(ctx context.Context, b *bench) (Finding, error) {
	dir, err := b.fixtures()
	if err != nil {
		return Finding{}, err
	}
	r, err := timing.Run(ctx, timing.Options{
		Model: filepath.Join(dir, "models", "llama-Q4_0.gguf"), Prompt: 32, Decode: 4, Samples: 6, Threads: 1, Inside: true,
		Ceilings: func(o ceiling.Options) (ceiling.Figures, error) {
			return ceiling.Figures{Level: o.Level, Threads: o.Threads, ReadGBs: 1e-6, Int8GMACs: 1e-6}, nil
		},
	})
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Answer: "measured"}
	if r.Void() {
		f.Answer, f.Status = "void", 2
	}
	f.Detail = strings.Join(r.Warnings, "; ")
	return f, nil
}
