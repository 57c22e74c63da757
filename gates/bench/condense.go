package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"assay/engine"
	"assay/gates/stats"
	"assay/gates/verdict"
	"assay/snapshots"
)

// condense turns samples into medians, fractions of the ceilings and ratios.
func condense(b *snapshots.Bench, runs []series, ids string, cache int) error {
	work := runs[0].samples[0].Work
	if work == nil {
		return fmt.Errorf("bench: the samples do not tell what they cost")
	}
	b.Model.WeightsPerTokenBytes, b.Model.MACsPerToken = int64(work.Bytes), int64(work.MACs)
	l := limits{machine: b.Machine, work: work, cache: cache}
	for _, r := range runs {
		run := snapshots.Run{Engine: r.engine, Version: r.version, IDsSHA256: ids}
		for _, s := range r.samples {
			run.PeakRSSBytes = max(run.PeakRSSBytes, s.PeakRSS)
		}
		reason := disagreement(r.samples)
		for _, t := range r.samples[0].Timings {
			p, err := phase(r, t)
			if err != nil {
				return err
			}
			if warning := l.judge(p, reason); warning != "" {
				b.Warnings = append(b.Warnings, r.engine+": "+p.Phase+": "+warning)
			}
			run.Phases = append(run.Phases, *p)
		}
		b.Runs = append(b.Runs, run)
	}
	if n := len(runs[0].samples); n < stats.MinSamples {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%d samples: an interval needs %d, the ones given are the range of the samples", n, stats.MinSamples))
	}
	if len(runs) == 2 {
		return ratios(b, runs[0], runs[1])
	}
	return nil
}

// phase gathers one phase of all samples.
func phase(r series, first Timing) (*snapshots.BenchPhase, error) {
	p := &snapshots.BenchPhase{Phase: first.Phase, Tokens: first.Tokens, Ceiling: "none"}
	for i, s := range r.samples {
		t, ok := s.timing(first.Phase)
		if !ok || t.Tokens != first.Tokens {
			return nil, fmt.Errorf("bench: %s: sample %d of %s has %d tokens, the first has %d", r.engine, i, first.Phase, t.Tokens, first.Tokens)
		}
		p.Samples = append(p.Samples, t.Seconds)
	}
	e, err := stats.Median(p.Samples)
	if err != nil {
		return nil, err
	}
	p.Median, p.Low, p.High = e.Value, e.Low, e.High
	if evaluates := p.Phase == engine.PhasePrompt || p.Phase == engine.PhaseDecode; evaluates && p.Median > 0 {
		p.TokensPerSec = float64(p.Tokens) / p.Median
	}
	return p, nil
}

func (s *Sample) timing(phase string) (Timing, bool) {
	i := slices.IndexFunc(s.Timings, func(t Timing) bool { return t.Phase == phase })
	if i < 0 {
		return Timing{}, false
	}
	return s.Timings[i], true
}

// disagreement says when samples of one engine gave different logits. Engines
// that do not tell their logits cannot disagree.
func disagreement(samples []*Sample) string {
	for i, s := range samples {
		if s.Logits != samples[0].Logits {
			return fmt.Sprintf("sample %d gave other logits than the first", i)
		}
	}
	return ""
}

// limits is what the phases are set against.
type limits struct {
	machine snapshots.Machine
	work    *Work
	cache   int // bytes of the last-level cache, 0: unknown
}

// Ceilings are the work of one sample, by phase, beside what the machine can do in
// a second, where that is a limit at all (see judge).
func (w *Work) Ceilings(timings []Timing, m snapshots.Machine) map[string]verdict.Ceiling {
	all := map[string]verdict.Ceiling{}
	for _, t := range timings {
		switch {
		case t.Phase == engine.PhaseDecode && w.Bytes > lastLevelCache():
			all[t.Phase] = verdict.Ceiling{Work: float64(w.Bytes-lastLevelCache()) * float64(t.Tokens), Unit: "bytes", PerSecond: m.ReadGBs * 1e9}
		case t.Phase == engine.PhasePrompt && w.Int8:
			all[t.Phase] = verdict.Ceiling{Work: w.PromptMACs(t.Tokens), Unit: "multiply-adds", PerSecond: m.Int8GMACs * 1e9}
		}
	}
	return all
}

// judge fills in the ceiling of a phase, and makes the phase void where it must
// be: when the samples disagreed, or when it was faster than the machine can be.
//
// Decoding is held to the read bandwidth, a prompt to the int8 rate where all its
// products are of int8; nothing else has a ceiling. Weights that fit into the
// last-level cache are not read from memory, so the bandwidth is no ceiling for
// them; of weights that do not fit, as much as the cache holds may be found there:
// only what is faster than the rest can be read is an error of measurement.
func (l *limits) judge(p *snapshots.BenchPhase, disagreement string) (warning string) {
	switch {
	case p.Median <= 0:
		p.Void = "no time passed"
	case p.Phase == engine.PhaseDecode && p.Tokens > 0 && l.machine.ReadGBs > 0 && l.work.Bytes > l.cache:
		rate := func(bytes int) float64 {
			return float64(bytes) * float64(p.Tokens) / p.Median / 1e9 / l.machine.ReadGBs
		}
		switch {
		case rate(l.work.Bytes) <= 1 || rate(l.work.Bytes-l.cache) > 1:
			p.Ceiling, p.OfCeiling = "bandwidth", rate(l.work.Bytes)
		default:
			warning = fmt.Sprintf("%.0f %% of the read bandwidth: the cache of %d MiB holds part of the weights, so there is no ceiling", 100*rate(l.work.Bytes), l.cache>>20)
		}
	case p.Phase == engine.PhasePrompt && l.machine.Int8GMACs > 0 && l.work.Int8:
		p.Ceiling, p.OfCeiling = "int8", l.work.PromptMACs(p.Tokens)/p.Median/1e9/l.machine.Int8GMACs
	}
	if p.OfCeiling > 1 {
		p.Void = fmt.Sprintf("error of measurement: %.0f %% of the %s ceiling", 100*p.OfCeiling, p.Ceiling)
	}
	if disagreement != "" {
		p.Void = disagreement
	}
	if p.Void != "" {
		return "void: " + p.Void
	}
	return warning
}

// Ready is the phase of a ratio that counts from opening the file until tokens can
// be evaluated: our load and prepare; a peer's load may hold both.
const Ready = "load+prepare"

// ratios compares pair by pair. A void phase of either side gives none.
func ratios(b *snapshots.Bench, ours, peer series) error {
	of := ours.engine + "/" + peer.engine
	for _, c := range []struct {
		name   string
		phases []string
	}{
		{Ready, []string{engine.PhaseLoad, engine.PhasePrepare}},
		{engine.PhasePrompt, []string{engine.PhasePrompt}},
		{engine.PhaseDecode, []string{engine.PhaseDecode}},
	} {
		if void(&b.Runs[0], c.phases) || void(&b.Runs[1], c.phases) {
			continue
		}
		x, y := times(&b.Runs[0], c.phases), times(&b.Runs[1], c.phases)
		if x == nil || y == nil {
			continue
		}
		e, err := stats.PairedRatio(y, x)
		if err != nil {
			return fmt.Errorf("bench: %s: %w", c.name, err)
		}
		b.Ratios = append(b.Ratios, snapshots.Ratio{Phase: c.name, Of: of, Speedup: e.Value, Low: e.Low, High: e.High})
	}
	return nil
}

// times adds up those of the phases that the engine has, sample by sample; nil
// when it has none.
func times(r *snapshots.Run, phases []string) (sum []float64) {
	for _, name := range phases {
		i := slices.IndexFunc(r.Phases, func(p snapshots.BenchPhase) bool { return p.Phase == name })
		if i < 0 {
			continue
		}
		if sum == nil {
			sum = make([]float64, len(r.Phases[i].Samples))
		}
		for k, s := range r.Phases[i].Samples {
			sum[k] += s
		}
	}
	return sum
}

func void(r *snapshots.Run, phases []string) bool {
	return slices.ContainsFunc(r.Phases, func(p snapshots.BenchPhase) bool {
		return p.Void != "" && slices.Contains(phases, p.Phase)
	})
}

// digest is the SHA-256 of the only file, or of lines "sha256  name" of several.
func digest(files map[string]string) string {
	names := slices.Sorted(maps.Keys(files))
	if len(names) == 1 {
		return files[names[0]]
	}
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%s  %s\n", files[name], name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// largest is the key with the largest value, the first of equals.
func largest(m map[string]int) (best string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if best == "" || m[name] > m[best] {
			best = name
		}
	}
	return best
}
