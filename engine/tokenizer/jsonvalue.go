package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/ardanlabs/jinja"
)

// maxDepth bounds the nesting of values given to a template.
const maxDepth = 1000

// jsonValue reads JSON as a template value. Objects keep the order of their
// keys, which tojson writes out again and models were trained on.
func jsonValue(raw json.RawMessage) (jinja.Value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := nextValue(d, 0)
	if err != nil {
		return v, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return v, errors.New("more than one JSON value")
	}
	return v, nil
}

func nextValue(d *json.Decoder, depth int) (jinja.Value, error) {
	if depth > maxDepth {
		return jinja.Undefined(), errors.New("JSON is nested too deeply")
	}
	token, err := d.Token()
	if err != nil {
		return jinja.Undefined(), err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return jinja.FromGoValue(token), nil
	}
	if delim == '[' {
		var items []jinja.Value
		for d.More() {
			v, err := nextValue(d, depth+1)
			if err != nil {
				return v, err
			}
			items = append(items, v)
		}
		_, err = d.Token()
		return jinja.NewList(items), err
	}
	object := jinja.NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return object, err
		}
		v, err := nextValue(d, depth+1)
		if err != nil {
			return v, err
		}
		object.AsDict().Set(key.(string), v)
	}
	_, err = d.Token()
	return object, err
}
