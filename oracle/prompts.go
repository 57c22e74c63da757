package oracle

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"assay/engine/checkpoint/regular"
)

// LoadPrompts reads a prompts file: a YAML list of {name, ids}, {name, text} or {name, messages}, each with an optional
// produced list, or the manifest of a recording (or its directory), whose prompts and produced ids are taken as they are.
// Text and messages are left to whoever has the tokenizer.
func LoadPrompts(path string) ([]Prompt, error) {
	b, err := regular.ReadAny(path, maxManifest)
	if err != nil {
		if m, merr := LoadManifest(path); merr == nil {
			return bare(m), nil
		}
		return nil, &RefusedError{File: path, Err: err}
	}
	return ParsePrompts(path, b)
}

// ParsePrompts is LoadPrompts for bytes; path is used in errors only.
func ParsePrompts(path string, b []byte) ([]Prompt, error) {
	var top yaml.Node
	if err := decodeYAML(b, &top); err != nil {
		return nil, &RefusedError{File: path, Err: err}
	}
	if len(top.Content) == 1 && top.Content[0].Kind == yaml.MappingNode {
		m, err := ParseManifest(path, b)
		if err != nil {
			return nil, err
		}
		return bare(m), nil
	}
	var list []Prompt
	if err := decodeYAML(b, &list); err != nil {
		return nil, &RefusedError{File: path, Err: err}
	}
	if len(list) == 0 {
		return nil, &RefusedError{File: path, Reason: "no prompts"}
	}
	for i := range list {
		if err := list[i].checkInput(path, i); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// bare gives the prompts of a recording without what the recording says about its own run of them.
func bare(m *Manifest) []Prompt {
	list := append([]Prompt(nil), m.Prompts...)
	for i := range list {
		list[i].Extra = nil
	}
	return list
}

func (p *Prompt) checkInput(path string, i int) error {
	if p.Name == "" {
		p.Name = fmt.Sprintf("prompt-%d", i)
	}
	refuse := func(format string, a ...any) error {
		return &RefusedError{File: path, Field: fmt.Sprintf("[%d]", i), Prompt: p.Name, Reason: fmt.Sprintf(format, a...)}
	}
	given := 0
	for _, there := range []bool{len(p.IDs) > 0, p.Text != "", len(p.Messages) > 0} {
		if there {
			given++
		}
	}
	if given == 0 {
		return refuse("one of ids, text or messages is needed")
	}
	if given > 1 && len(p.IDs) == 0 {
		return refuse("text and messages are two different prompts")
	}
	for key := range p.Extra {
		return refuse("unknown key %.40q (name, ids, text, messages, produced)", key)
	}
	for _, ids := range [][]int32{p.IDs, p.Produced} {
		for j, id := range ids {
			if id < 0 {
				return refuse("id %d at %d is negative", id, j)
			}
		}
	}
	return nil
}
