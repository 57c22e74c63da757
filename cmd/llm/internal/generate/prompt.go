package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"assay/engine"
	"assay/engine/tokenizer"
)

const maxPromptBytes = 64 << 20 // more than any context holds

// readPrompt resolves "-". The line end that most tools put behind a text is
// not part of it.
func readPrompt(ctx context.Context, prompt string, stdin io.Reader) (string, error) {
	if prompt != "-" {
		return prompt, nil
	}
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() { // a read from a terminal does not end with the context
		text, err := io.ReadAll(io.LimitReader(stdin, maxPromptBytes+1))
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", errInterrupted
	case r := <-done:
		if r.err != nil {
			return "", fmt.Errorf("prompt from standard input: %w", r.err)
		}
		if len(r.text) > maxPromptBytes {
			return "", fmt.Errorf("prompt from standard input: more than %d bytes", maxPromptBytes)
		}
		return strings.TrimSuffix(strings.TrimSuffix(string(r.text), "\n"), "\r"), nil
	}
}

// promptIDs turns the flags into the ids to feed, and tells whether they are a
// chat. The tokenizer is nil only where ids were given and the model has none.
func promptIDs(m *engine.Model, o *options, text string) (ids []int32, chat bool, t *tokenizer.Tokenizer, err error) {
	t, err = m.Tokenizer()
	if o.fed != nil {
		if err != nil {
			o.notes = append(o.notes, fmt.Sprintf("ids are printed in place of text: %v", err))
			t = nil
		}
		return o.fed, false, t, nil
	}
	if err != nil {
		return nil, false, nil, fmt.Errorf("%w (--ids feeds ids without a tokenizer)", err)
	}
	_, has := t.ChatTemplate()
	switch {
	case o.given("chat") && o.chat && !has:
		return nil, false, nil, errors.New("--chat: the model has no chat template")
	case o.system != "" && !has:
		return nil, false, nil, errors.New("--system: the model has no chat template")
	}
	if chat = o.chat && has; chat {
		ids, err = chatIDs(t, o.system, text)
	} else {
		ids, err = t.Encode(text, tokenizer.EncodeOptions{AddSpecial: true, ParseSpecial: true})
	}
	if err == nil && len(ids) == 0 {
		err = errors.New("the prompt is empty")
	}
	return ids, chat, t, err
}

func chatIDs(t *tokenizer.Tokenizer, system, text string) ([]int32, error) {
	messages := []tokenizer.Message{{Role: "user", Content: text}}
	if system != "" {
		messages = append([]tokenizer.Message{{Role: "system", Content: system}}, messages...)
	}
	prompt, err := t.RenderChat(messages, tokenizer.ChatOptions{AddGenerationPrompt: true})
	if err != nil {
		return nil, fmt.Errorf("%w (--chat=false leaves the template out)", err)
	}
	return t.Encode(prompt, tokenizer.EncodeOptions{ParseSpecial: true})
}
