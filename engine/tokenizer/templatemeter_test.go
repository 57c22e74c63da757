package tokenizer

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTemplatesWithoutEndAreStopped(t *testing.T) {
	grow := func(how string) string {
		return `{% set ns = namespace(x="aaaaaaaa") %}{% for i in range(60) %}{% set ns.x = ` + how + ` %}{% endfor %}{{ ns.x|length }}`
	}
	for source, want := range map[string]string{
		`{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}`:             "steps",
		`{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}`:                                            "nested deeper",
		`{% macro f(n) %}{% if n > 0 %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}`: "steps",
		`{% macro a() %}{% call a() %}x{% endcall %}{% endmacro %}{{ a() }}`:                         "nested deeper",
		grow(`ns.x + ns.x`):                                        "grows",
		grow(`ns.x ~ ns.x`):                                        "grows",
		grow(`ns.x.replace("a", "aaaaaaaa")`):                      "grows",
		grow(`[ns.x, ns.x]`):                                       "grows",
		`{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}`:    "in itself",
		`{% set l = [] %}{{ l.append(l) }}{{ l }}`:                 "in itself",
		`{% set d = {} %}{% set x = d.update({"a": d}) %}{{ d }}`:  "in itself",
		`{% if 1 %}{% endif %}` + strings.Repeat(" ", maxTemplate): "allowed",
		`{{ ` + strings.Repeat("(", maxTag+1):                      "a tag has more",
	} {
		_, err := RenderTemplate(source, "t", "", "", nil, ChatOptions{})
		var refused *TemplateError
		require.ErrorAs(t, err, &refused, "%.80s", source)
		assert.ErrorContains(t, err, want, "%.80s", source)
	}
}

func TestTheMeterWritesNothingAndCountsWhatIsLeft(t *testing.T) {
	source := `{% macro m(x) %}<{{ x }}>{% endmacro %}{% set l = [] %}{% for i in range(300) %}{{ m(i) if i < 3 else m("")[2:] }}{% set y = i %}{% endfor %}` +
		`{{ l.append(1) or "" }}{% set c %}{% if l %}text{% endif %}{% endset %}{{ c }}`
	got, err := RenderTemplate(source, "t", "", "", nil, ChatOptions{})
	require.NoError(t, err)
	assert.Equal(t, "<0><1><2>text", got)
}
