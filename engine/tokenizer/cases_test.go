package tokenizer

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

type fileCase struct {
	ID, Level, File, Expect, Strength string
	Error                             struct{ Names, Hints []string }
	Values                            struct {
		Encode []struct {
			Text string
			IDs  []int32
		}
		Decode []struct {
			IDs  []int32
			Text string
		}
		AddSpecialTokens bool `yaml:"add_special_tokens"`
	}
}

// check holds one case; it gives false where the expectation is not met.
func (c *fileCase) check(t *testing.T, root string) bool {
	tok, err := FromFile(filepath.Join(root, c.File))
	if err == nil {
		for _, e := range c.Values.Encode {
			ids, err := tok.Encode(e.Text, EncodeOptions{ParseSpecial: true, AddSpecial: c.Values.AddSpecialTokens})
			if !assert.NoError(t, err) || !assert.Equal(t, nonNil(e.IDs), nonNil(ids), "%q", e.Text) {
				return false
			}
		}
		for _, d := range c.Values.Decode {
			if !assert.Equal(t, d.Text, tok.Decode(d.IDs, false), "%v", d.IDs) {
				return false
			}
		}
	}
	if err != nil && c.Expect != "accept" {
		ok := true
		for _, name := range c.Error.Names {
			ok = assert.ErrorContains(t, err, name) && ok
		}
		t.Log(err)
		return ok
	}
	if c.Expect == "refuse" {
		return assert.Error(t, err)
	}
	return assert.NoError(t, err)
}

func TestTokenizerCasesGiveTheirExpectation(t *testing.T) {
	root := shared(t, "cases")
	data, err := os.ReadFile(filepath.Join(root, "cases.yaml"))
	require.NoError(t, err)
	var cases []fileCase
	if err := yaml.Unmarshal(data, &cases); err != nil {
		var wrapped struct{ Cases []fileCase }
		require.NoError(t, yaml.Unmarshal(data, &wrapped))
		cases = wrapped.Cases
	}
	held, all := 0, 0
	for _, c := range cases {
		if c.Level != "tokenizer" {
			continue
		}
		all++
		t.Run(c.ID, func(t *testing.T) {
			if c.check(t, root) {
				held++
			}
		})
	}
	require.NotZero(t, all)
	t.Logf("%d of %d cases held", held, all)
}
