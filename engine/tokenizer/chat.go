package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ardanlabs/jinja"
)

// ErrNoChatTemplate is the error of RenderChat where the files carry none.
var ErrNoChatTemplate = errors.New("tokenizer: no chat template")

// TemplateError tells why a conversation could not be written as a prompt.
type TemplateError struct {
	Source string // where the template stands
	Stage  string // "parse": it is not understood; "raise": it refuses the conversation itself; "render": it fails
	Reason string
}

func (e *TemplateError) Error() string {
	switch e.Stage {
	case "parse":
		return fmt.Sprintf("%s: cannot be parsed: %s", e.Source, e.Reason)
	case "raise":
		return fmt.Sprintf("%s: refuses the conversation: %s", e.Source, e.Reason)
	}
	return fmt.Sprintf("%s: cannot be rendered: %s", e.Source, e.Reason)
}

// Message is one turn of a conversation. Where the turn has more than a role
// and a text (tool calls, parts), JSON holds the whole message as an object and
// wins; templates then see its keys in that order.
type Message struct {
	Role, Content string
	JSON          json.RawMessage
}

// UnmarshalJSON keeps the whole object beside role and content.
func (m *Message) UnmarshalJSON(data []byte) error {
	var plain struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	if err := json.Unmarshal(data, &plain); err != nil {
		return err
	}
	m.Role = plain.Role
	m.Content, _ = plain.Content.(string)
	m.JSON = append(json.RawMessage(nil), data...)
	return nil
}

// Variable is one more value that a template can ask for, as JSON.
type Variable struct {
	Name string
	JSON json.RawMessage
}

// ChatOptions is what a rendering needs beside the messages.
type ChatOptions struct {
	AddGenerationPrompt bool            // end with the beginning of the answer
	Tools               json.RawMessage // list of tool descriptions, may be empty
	Extra               []Variable      // e.g. enable_thinking; later ones win
	Now                 time.Time       // what strftime_now tells; zero is the real time
}

// chatTemplate is a template that is parsed when it is first asked for.
type chatTemplate struct {
	source, name string
	bos, eos     string
	compile      func() (*jinja.Template, error)
}

func newChatTemplate(source, name, bos, eos string) chatTemplate {
	c := chatTemplate{source: source, name: name, bos: bos, eos: eos}
	c.compile = sync.OnceValues(func() (t *jinja.Template, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &TemplateError{name, "parse", fmt.Sprint(p)}
			}
		}()
		prepared, err := prepareTemplate(source)
		if err == nil {
			t, err = jinja.Compile(prepared)
		}
		if err != nil {
			err = &TemplateError{name, "parse", err.Error()}
		}
		return t, err
	})
	return c
}

// ChatTemplate gives the Jinja source of the template that the files carry.
func (t *Tokenizer) ChatTemplate() (source string, ok bool) {
	return t.chat.source, t.chat.source != ""
}

// RenderChat writes a conversation as the prompt text the model was trained on.
// The text holds special tokens: encode it with ParseSpecial, and without
// AddSpecial, since a template writes the BOS itself where the model wants one.
func (t *Tokenizer) RenderChat(messages []Message, o ChatOptions) (string, error) {
	if t.chat.source == "" {
		return "", ErrNoChatTemplate
	}
	return t.chat.render(messages, o)
}

// RenderTemplate renders a template given by the caller in place of the
// tokenizer's own; name is what errors call it.
func RenderTemplate(source, name, bos, eos string, messages []Message, o ChatOptions) (string, error) {
	c := newChatTemplate(source, name, bos, eos)
	return c.render(messages, o)
}

func (c *chatTemplate) render(messages []Message, o ChatOptions) (text string, err error) {
	template, err := c.compile()
	if err != nil {
		return "", err
	}
	raised := ""
	values, err := c.values(messages, o, &raised)
	if err != nil {
		return "", err
	}
	defer func() {
		if p := recover(); p != nil {
			text, err = "", &TemplateError{c.name, "render", fmt.Sprint(p)}
		}
	}()
	text, err = template.RenderValues(values)
	if err != nil {
		if raised != "" {
			return "", &TemplateError{c.name, "raise", raised}
		}
		return "", &TemplateError{c.name, "render", err.Error()}
	}
	return text, nil
}

func (c *chatTemplate) values(messages []Message, o ChatOptions, raised *string) (map[string]jinja.Value, error) {
	items := make([]jinja.Value, len(messages))
	for i, m := range messages {
		var err error
		if items[i], err = m.value(); err != nil {
			return nil, &TemplateError{c.name, "render", fmt.Sprintf("messages[%d]: %v", i, err)}
		}
	}
	now := o.Now
	if now.IsZero() {
		now = time.Now()
	}
	values := map[string]jinja.Value{
		"messages":              jinja.NewList(items),
		"add_generation_prompt": jinja.NewBool(o.AddGenerationPrompt),
		"tools":                 jinja.None(),
		"documents":             jinja.None(),
		"raise_exception": jinja.NewCallable("raise_exception", func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			*raised = "no reason given"
			if len(args) > 0 && args[0].IsString() {
				*raised = args[0].AsString()
			}
			return jinja.Undefined(), errors.New(*raised)
		}),
		"range":        jinja.NewCallable("range", boundedRange),
		"strftime_now": jinja.NewCallable("strftime_now", formatNow(now)),
		jsonFilter:     jinja.NewCallable("tojson", toJSON),
		meterName:      jinja.NewCallable(meterName, newMeter().call),
	}
	if c.bos != "" {
		values["bos_token"] = jinja.NewString(c.bos)
	}
	if c.eos != "" {
		values["eos_token"] = jinja.NewString(c.eos)
	}
	more := o.Extra
	if len(o.Tools) > 0 {
		more = append([]Variable{{"tools", o.Tools}}, more...)
	}
	for _, v := range more {
		value, err := jsonValue(v.JSON)
		if err != nil {
			return nil, &TemplateError{c.name, "render", fmt.Sprintf("%s: %v", v.Name, err)}
		}
		values[v.Name] = value
	}
	return values, nil
}

func (m *Message) value() (jinja.Value, error) {
	if len(m.JSON) > 0 {
		return jsonValue(m.JSON)
	}
	v := jinja.NewDict()
	v.AsDict().Set("role", jinja.NewString(m.Role))
	v.AsDict().Set("content", jinja.NewString(m.Content))
	return v, nil
}
