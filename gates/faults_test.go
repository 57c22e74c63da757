package gates

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/decoder"
	"assay/kernels/cpu"
	"assay/snapshots"
)

// runGates runs the gates on fixtures whose names match exactly one of the names.
func runGates(t *testing.T, o Options, names ...string) *snapshots.Report {
	t.Helper()
	list, err := Load(OnFixtures)
	require.NoError(t, err)
	o.Select = regexp.MustCompile("^(" + strings.Join(names, "|") + ")$")
	report, err := Run(context.Background(), list, o)
	require.NoError(t, err)
	return report
}

// details joins what failed and what it said.
func details(r *snapshots.Report, v snapshots.Verdict) string {
	var all []string
	for _, x := range r.Results {
		if x.Verdict == v {
			all = append(all, x.Gate+" "+x.Check+": "+x.Detail)
		}
	}
	return strings.Join(all, "\n")
}

func TestSeededFaultsFailWithTheirCause(t *testing.T) {
	dir := materialised(t)
	for _, c := range []struct {
		name  string
		gates []string
		alter func(*decoder.Spec)
		says  []string
	}{
		{"rotary pairing swapped", []string{"parity/llama-transformers", "parity/llama-F32", "parity/llama-Q4_0"},
			func(s *decoder.Spec) { s.Rotary.Adjacent = !s.Rotary.Adjacent },
			[]string{"first diverging tensor: p0.k.L0", "the rotary pairing is swapped"}},
		{"rotary base wrong", []string{"parity/llama-transformers"},
			func(s *decoder.Spec) {
				for i := range s.Rotary.Freq {
					s.Rotary.Freq[i] = float32(math.Pow(500000, -float64(2*i)/float64(s.Rotary.Dim)))
				}
			},
			[]string{"first diverging tensor: p0.k.L0", "rotary base or a frequency scaling"}},
		{"window where there is none", []string{"parity/llama-transformers"},
			func(s *decoder.Spec) { s.Window = 16 },
			[]string{"first diverging tensor: p0.hidden.L0", "up to position 15", "sliding window"}},
		{"attention scale wrong", []string{"parity/llama-transformers"},
			func(s *decoder.Spec) { s.AttentionScale *= 1.1 },
			[]string{"first diverging tensor: p0.hidden.L0", "position 0 of its output does and later ones do not", "its scale 1/sqrt(head dim)"}},
		{"norm epsilon wrong", []string{"parity/llama-transformers"},
			func(s *decoder.Spec) { s.NormEps = 1e-2 },
			[]string{"first diverging tensor: p0.k.L0", "the norm before attention (weights, epsilon)"}},
		{"activation function wrong", []string{"parity/llama-transformers"},
			func(s *decoder.Spec) { s.Gate = decoder.GELUTanh },
			[]string{"first diverging tensor: p0.hidden.L0", "from the first position on", "the feed-forward part (activation"}},
		{"scale in a state without recorded nodes", []string{"parity/llama-Q4_0"},
			func(s *decoder.Spec) { s.AttentionScale *= 2 },
			[]string{"first diverging tensor: p0.k.L1", "the tensors before it agree, the last is v.L0"}},
		{"golden bits", []string{"invariance/long"},
			func(s *decoder.Spec) { s.AttentionScale = math.Nextafter32(s.AttentionScale, 1) },
			[]string{"K/V of layer 1 has SHA-256", "look at what layer 0 computes: attention"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, gate := range c.gates {
				report := runGates(t, Options{Fixtures: dir, Alter: c.alter, Levels: []string{cpu.Detected().String()}, Threads: []int{2}}, gate)
				assert.Equal(t, 1, report.ExitStatus())
				for _, text := range c.says {
					assert.Contains(t, details(report, snapshots.Failed), text, gate)
				}
			}
		})
	}
}

func TestFlippedByteInAFixtureIsNamed(t *testing.T) {
	dir := materialised(t)
	const name = "models/llama-Q4_0.gguf"
	path := filepath.Join(dir, filepath.FromSlash(name))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[len(b)-1000] ^= 1
	require.NoError(t, os.WriteFile(path, b, 0o644))

	report := runGates(t, Options{Fixtures: dir}, "structure/llama-Q4_0", "parity/llama-Q4_0", "decode/weights")
	assert.Equal(t, 1, report.ExitStatus())
	failed := details(report, snapshots.Failed)
	assert.Contains(t, failed, "structure/llama-Q4_0 hashes, config, formats, kernels, tokens: fixtures: "+name+" is damaged")
	assert.Regexp(t, `decode/weights rows: \S+ \(\S+ \[\d+ \d+\]\): decoded values have SHA-256`, failed, "the tensor is named")
	assert.Contains(t, details(report, snapshots.Void), "checkpoint file llama-Q4_0.gguf", "a recording of other bytes proves nothing")
}

func TestWrongLogitInEvidenceIsNamed(t *testing.T) {
	dir := materialised(t)
	// Element 37 of row 11 of the second prompt: the recording has no hash of its
	// own, so only the comparison can find it.
	changeFloat(t, filepath.Join(dir, "evidence", "llama", "evidence.safetensors"), "p1.logits", 11*512+37, 0.5)

	report := runGates(t, Options{Fixtures: dir}, "parity/llama-transformers", "structure/llama")
	assert.Equal(t, 1, report.ExitStatus())
	failed := details(report, snapshots.Failed)
	assert.Contains(t, failed, "fixtures: evidence/llama/evidence.safetensors is damaged")
	assert.Contains(t, failed, `at prompt "chat-turns", position 11, index 37`)
	assert.Contains(t, failed, "one logit carries the whole difference: id 37")
}

func TestEvidenceThatIsNotFiniteIsRefused(t *testing.T) {
	dir := materialised(t)
	changeFloat(t, filepath.Join(dir, "evidence", "llama", "evidence.safetensors"), "p1.logits", 7, float32(math.NaN()))
	report := runGates(t, Options{Fixtures: dir}, "parity/llama-transformers")
	assert.Equal(t, 2, report.ExitStatus(), "refused evidence leaves the question open")
	assert.Contains(t, details(report, snapshots.Void), "p1.logits")
}

// changeFloat adds x to an element of a tensor in a safetensors file.
func changeFloat(t *testing.T, path, tensor string, element int, x float32) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	n := int(binary.LittleEndian.Uint64(b))
	var header map[string]struct {
		Offsets [2]int `json:"data_offsets"`
	}
	require.NoError(t, json.Unmarshal(b[8:8+n], &header))
	require.Contains(t, header, tensor)
	at := b[8+n+header[tensor].Offsets[0]+4*element:]
	binary.LittleEndian.PutUint32(at, math.Float32bits(math.Float32frombits(binary.LittleEndian.Uint32(at))+x))
	require.NoError(t, os.WriteFile(path, b, 0o644))
}
