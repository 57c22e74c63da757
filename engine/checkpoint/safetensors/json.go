package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// scanner walks JSON text that json.Valid has accepted (which also bounds the
// nesting), token by token, so that duplicate keys are seen and nothing is
// built for parts that nobody asked for.
type scanner struct{ *json.Decoder }

func scan(text []byte) scanner {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return scanner{d}
}

// object calls field for each key; field must consume the value.
func (s scanner) object(what string, field func(key string) error) error {
	t, err := s.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("%s is %s, want a JSON object", what, kind(t))
	}
	for s.More() {
		t, err := s.Token()
		if err != nil {
			return err
		}
		if err := field(t.(string)); err != nil {
			return err
		}
	}
	_, err = s.Token()
	return err
}

// skip consumes one value.
func (s scanner) skip() error {
	for depth := 0; ; {
		t, err := s.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func (s scanner) text(what string) (string, error) {
	t, err := s.Token()
	if err != nil {
		return "", err
	}
	if str, ok := t.(string); ok {
		return str, nil
	}
	return "", fmt.Errorf("%s is %s, want a string", what, kind(t))
}

// integers reads an array of integers from 0 to the largest int64.
func (s scanner) integers(what string) ([]int64, error) {
	t, err := s.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('[') {
		return nil, fmt.Errorf("%s is %s, want an array of integers", what, kind(t))
	}
	out := []int64{}
	for s.More() {
		t, err := s.Token()
		if err != nil {
			return nil, err
		}
		n, ok := t.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s holds %s, want an integer", what, kind(t))
		}
		v, err := natural(n.String())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		out = append(out, v)
	}
	_, err = s.Token()
	return out, err
}

func natural(text string) (int64, error) {
	if strings.ContainsAny(text, ".eE") {
		return 0, fmt.Errorf("%.40s is no integer", text)
	}
	if strings.HasPrefix(text, "-") {
		return 0, fmt.Errorf("%.40s is negative", text)
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil || v > math.MaxInt64 {
		return 0, fmt.Errorf("%.40s is out of range", text)
	}
	return int64(v), nil
}

func kind(t json.Token) string {
	switch v := t.(type) {
	case json.Delim:
		if v == '{' {
			return "an object"
		}
		return "an array"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	}
	return "null"
}
