package gates

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/engine"
	"assay/engine/tokenizer"
	"assay/fixtures"
	"assay/gates/inspect"
	"assay/oracle"
	"assay/snapshots"
)

// structureJob looks at a file before anything is computed with it.
func structureJob(ctx context.Context, r *run, c *Case) ([]snapshots.Result, error) {
	hashed := 0
	if r.options.Model == "" { // before anything reads the bytes
		for _, name := range []string{c.Model, c.Evidence} {
			if name == "" {
				continue
			}
			n, err := fixtures.Verify(r.dir, name)
			if err != nil {
				return nil, err
			}
			hashed += n
		}
	}
	m, err := r.open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	var results []snapshots.Result
	for i := range c.Checks {
		k := &c.Checks[i]
		x := k.result("")
		switch k.What {
		case "hashes":
			err = hashes(&x, m, hashed)
		case "config":
			x.Value = inspect.Describe(m.Config())
			if c.Config != "" && c.Config != x.Value {
				fail(&x, "expected is: "+c.Config)
			}
		case "formats":
			formats(&x, m, c.Formats)
		case "kernels":
			kernels(&x, m)
		case "tokens":
			err = r.tokens(&x, m, c)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.What, err)
		}
		results = append(results, x)
	}
	return results, nil
}

// hashes tells the SHA-256 of the files; those of fixtures have been compared
// with the list that is built in.
func hashes(x *snapshots.Result, m *engine.Model, verified int) error {
	if verified > 0 {
		x.Value = fmt.Sprintf("%d files as listed", verified)
		return nil
	}
	sums, err := m.Checkpoint().Digest()
	if err != nil {
		return err
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		parts = append(parts, name+" "+sums[name][:16])
	}
	x.Value, x.Tolerance = strings.Join(parts, ", "), ""
	x.Verdict, x.Detail = snapshots.Skipped, "there is no list of hashes for a file of the user"
	return nil
}

// formats counts tensors by format; every tensor must be of a format that can
// be decoded, which Open has made sure of.
func formats(x *snapshots.Result, m *engine.Model, want map[string]int) {
	got := map[string]int{}
	for _, t := range m.Checkpoint().Tensors() {
		got[t.Type.String()]++
	}
	x.Value = counts(got)
	if want != nil && !maps.Equal(got, want) {
		fail(x, "expected are "+counts(want))
	}
}

func counts(n map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%d %s", n[name], name))
	}
	return strings.Join(parts, ", ")
}

// kernels makes sure that a faster level than scalar was not lost silently.
func kernels(x *snapshots.Result, m *engine.Model) {
	var parts []string
	for format, name := range m.Kernels() {
		parts = append(parts, format+" "+name)
		if level := m.Level().String(); level != "scalar" && strings.Contains(name, "scalar") {
			fail(x, fmt.Sprintf("%s is multiplied by %s although this machine runs %s: there is no kernel, or it was not registered", format, name, level))
		}
	}
	slices.Sort(parts)
	x.Value = strings.Join(parts, ", ")
}

// tokens encodes the texts of a recording and compares the ids.
func (r *run) tokens(x *snapshots.Result, m *engine.Model, c *Case) error {
	manifest, err := oracle.LoadManifest(r.path(c.Evidence))
	if err != nil {
		return err
	}
	t, err := m.Tokenizer()
	if err != nil {
		return err
	}
	same, all := 0, 0
	for i := range manifest.Prompts {
		p := &manifest.Prompts[i]
		if p.Text == "" {
			continue
		}
		all++
		got, err := t.Encode(p.Text, tokenizer.EncodeOptions{AddSpecial: addSpecial(t, p), ParseSpecial: true})
		if err != nil {
			return err
		}
		if at := firstDifference(got, p.IDs); at >= 0 {
			fail(x, fmt.Sprintf("prompt %q: id %d: %s, recorded %s", p.Name, at, idAt(got, at), idAt(p.IDs, at)))
			continue
		}
		same++
	}
	x.Value = fmt.Sprintf("%d of %d texts", same, all)
	return nil
}

// addSpecial tells whether a prompt was encoded with the ids that the model
// wants around a text: what the recorder says, else whether the first id is its BOS and
// the text does not spell it.
func addSpecial(t *tokenizer.Tokenizer, p *oracle.Prompt) bool {
	if said, ok := p.Extra["add_special_tokens"].(bool); ok {
		return said
	}
	bos, ok := t.BOS()
	return ok && len(p.IDs) > 0 && p.IDs[0] == bos && !strings.HasPrefix(p.Text, t.Token(bos))
}

// firstDifference is the first index at which two lists differ, or -1.
func firstDifference(a, b []int32) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

func idAt(ids []int32, i int) string {
	if i >= len(ids) {
		return "none"
	}
	return fmt.Sprint(ids[i])
}
