package tokenizer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTemplatesRenderAsJinja2RendersThem(t *testing.T) {
	rows := readLines[struct {
		Variables    map[string]json.RawMessage
		Source, Text string
	}](t, "testdata/templates.jsonl")
	require.NotEmpty(t, rows)
	var o ChatOptions
	for name, value := range rows[0].Variables {
		o.Extra = append(o.Extra, Variable{name, value})
	}
	equal := 0
	for _, r := range rows[1:] {
		text, err := RenderTemplate(r.Source, "t", "", "", nil, o)
		if assert.NoError(t, err, "%q", r.Source) && assert.Equal(t, r.Text, text, "%q", r.Source) {
			equal++
		}
	}
	t.Logf("%d of %d templates equal", equal, len(rows)-1)
}

func TestTemplatesThatCannotBeReadAreNamedWithTheirLine(t *testing.T) {
	for source, reason := range map[string]string{
		"a\nb {{ x":         "line 2: tag is not closed",
		"{# x":              "line 1: comment is not closed",
		"\n\n{% raw %} x":   "line 3: raw is not closed",
		"{{ a ? b }}":       `unexpected character '?'`,
		"{{ 'a }}":          "string is not closed",
		"{{ !a }}":          `unexpected character '!'`,
		"{% nonsense %}":    "nonsense",
		"{% if a %}":        "",
		"{% for x in %}":    "",
		"x\n{% endif %}":    "line 2",
		"{{ a + }}":         "",
		"{{ (a }}":          "",
		"{% if a %}{% if b": "",
	} {
		_, err := RenderTemplate(source, "t", "", "", nil, ChatOptions{})
		var e *TemplateError
		if assert.ErrorAs(t, err, &e, source) {
			assert.Equal(t, "parse", e.Stage, source)
			assert.Contains(t, e.Reason, reason, source)
		}
	}
}

func FuzzPrepareTemplate(f *testing.F) {
	for _, s := range []string{"a {{- b }} c", "{% raw -%} x {%- endraw %}", "{# x -#}\n y", "{{ {'a': {'b': \"}}\"}} }}", "{%+ if x +%}\n{% endif %}", "{%raw\r%}{%\nendraw\n%}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		prepared, err := prepareTemplate(source)
		if err != nil {
			return
		}
		assert.Equal(t, strings.Count(prepareLines(source), "\n"), strings.Count(prepared, "\n"), "lines stay")
		if len(source) < 1000 {
			_, _ = RenderTemplate(source, "t", "", "", []Message{{Role: "user"}}, ChatOptions{})
		}
	})
}

func prepareLines(source string) string {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	return strings.TrimSuffix(strings.ReplaceAll(source, "\r", "\n"), "\n")
}
