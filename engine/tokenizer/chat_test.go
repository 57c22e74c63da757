package tokenizer

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTemplateErrorsTellTheirStage(t *testing.T) {
	for _, c := range []struct{ source, stage, reason string }{
		{"{% if %}", "parse", ""},
		{"{{ messages", "parse", ""},
		{"{{ raise_exception('no ' + messages[0].role) }}", "raise", "no user"},
		{"{{ messages[0].content | nosuchfilter }}", "render", "nosuchfilter"},
		{"{% for i in range(10000000000) %}x{% endfor %}", "render", "range"},
	} {
		_, err := RenderTemplate(c.source, "chat_template.jinja", "", "", []Message{{Role: "user"}}, ChatOptions{})
		var e *TemplateError
		if assert.ErrorAs(t, err, &e, c.source) {
			assert.Equal(t, c.stage, e.Stage, c.source)
			assert.Contains(t, e.Reason, c.reason)
			assert.ErrorContains(t, err, "chat_template.jinja")
		}
	}
}

func TestTemplatesSeeKeysInTheirOrder(t *testing.T) {
	var m Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","content":"x","call":{"zebra":1,"apple":{"b":2.5,"a":[true,null]}}}`), &m))
	assert.Equal(t, "user", m.Role)
	text, err := RenderTemplate("{{ messages[0].call | tojson }} {{ tools | tojson }} {{ mode }}{{ bos_token }}", "t", "<s>", "", []Message{m},
		ChatOptions{Tools: json.RawMessage(`[{"name":"f","a":1}]`), Extra: []Variable{{"mode", json.RawMessage(`"fast"`)}}})
	require.NoError(t, err)
	assert.Equal(t, `{"zebra": 1, "apple": {"b": 2.5, "a": [true, null]}} [{"name": "f", "a": 1}] fast<s>`, text)
}

func TestRangeCountsAsInTemplates(t *testing.T) {
	text, err := RenderTemplate("{% for i in range(3) %}{{ i }}{% endfor %} {% for i in range(5, 1, -2) %}{{ i }}{% endfor %}", "t", "", "", nil, ChatOptions{})
	require.NoError(t, err)
	assert.Equal(t, "012 53", text)
}

func TestTokenizerWithoutTemplateSaysSo(t *testing.T) {
	tok, err := FromFile("testdata/llama/tokenizer.json")
	require.NoError(t, err)
	_, ok := tok.ChatTemplate()
	assert.False(t, ok)
	_, err = tok.RenderChat(nil, ChatOptions{})
	assert.ErrorIs(t, err, ErrNoChatTemplate)
}

func TestExtraValuesThatAreNoJSONAreRefused(t *testing.T) {
	for _, raw := range []string{`{"a":`, `1 2`, ``, string(deep(2000))} {
		_, err := RenderTemplate("x", "t", "", "", nil, ChatOptions{Extra: []Variable{{"v", json.RawMessage(raw)}}})
		assert.Error(t, err, "%.20q", raw)
	}
}

func deep(n int) []byte {
	b := make([]byte, 0, 2*n)
	for range n {
		b = append(b, '[')
	}
	for range n {
		b = append(b, ']')
	}
	return b
}
