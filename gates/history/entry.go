package history

import (
	"path"
	"slices"
	"strings"

	"assay/snapshots"
)

// Kind is what an entry point times.
type Kind string

// The kinds of entry points.
const (
	Phases  Kind = "phases"  // complete phases of an embedded model
	Kernels Kind = "kernels" // a Go benchmark
)

// The workload of the phases: what figures of this project are given for.
const (
	PromptIDs   = 124
	Evaluations = 47
)

// Entry is one thing that can be measured by itself.
type Entry struct {
	Name    string // "phases/llama-Q4_0.gguf", "kernels/vector.RMSNorm3584"
	Kind    Kind
	Model   string   // below fixtures (Phases)
	Package string   // folder below the root (Kernels)
	Mark    string   // benchmark without the word Benchmark (Kernels)
	Sources []string // what it measures; see Sources
}

// Entries lists the entry points of a tree: one for the phases of each embedded
// model, one for every Go benchmark.
func (s *Sources) Entries() (all []*Entry) {
	engine := s.closure("engine")
	for _, model := range s.models() {
		fixture := "fixtures/" + model
		all = append(all, &Entry{Name: "phases/" + path.Base(model), Kind: Phases, Model: model, Sources: append(slices.Clone(engine), fixture)})
	}
	var packages []string
	for p := range s.marks {
		packages = append(packages, p)
	}
	slices.Sort(packages)
	for _, p := range packages {
		measured := append(s.closure(append([]string{p}, s.tests[p]...)...), testsOf(p))
		for _, mark := range s.marks[p] {
			all = append(all, &Entry{Name: p + "." + mark, Kind: Kernels, Package: p, Mark: mark, Sources: measured})
		}
	}
	return all
}

// models are the weight files and folders of the fixtures.
func (s *Sources) models() (all []string) {
	for name := range s.fixtures {
		if parts := strings.SplitN(name, "/", 3); len(parts) > 1 && parts[0] == "models" {
			if m := parts[0] + "/" + parts[1]; !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	slices.Sort(all)
	return all
}

// MeasuredIn tells whether a snapshot has usable figures of the entry point.
func (e *Entry) MeasuredIn(r *snapshots.Report) bool {
	if e.Kind == Kernels {
		usable := false
		for i := range r.Kernels {
			if k := &r.Kernels[i]; k.Entry() == e.Name {
				if k.Void != "" {
					return false
				}
				usable = true
			}
		}
		return usable
	}
	return slices.ContainsFunc(r.AllBenches(), func(b *snapshots.Bench) bool {
		return path.Base(b.Model.Path) == path.Base(e.Model) && len(b.Runs) > 0 && !b.Void() && hasWorkload(&b.Runs[0])
	})
}

func hasWorkload(r *snapshots.Run) bool {
	want := map[string]int{"prompt": PromptIDs, "decode": Evaluations}
	for _, p := range r.Phases {
		if n, ok := want[p.Phase]; ok && n != p.Tokens {
			return false
		}
	}
	return true
}
