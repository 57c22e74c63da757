package llamacpp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"assay/oracle"
)

// Request is one thing to do in a process of its own. Exactly the field that Op names is set.
type Request struct {
	Op       string           `json:"op"`            // info, tokenize, record, bench, quantize
	Dir      string           `json:"dir,omitempty"` // of the library; empty: where Find finds it
	Variant  string           `json:"variant,omitempty"`
	Tokenize *TokenizeRequest `json:"tokenize,omitempty"`
	Record   *RecordRequest   `json:"record,omitempty"`
	Out      string           `json:"out,omitempty"` // record: directory of the recording
	Bench    *BenchRequest    `json:"bench,omitempty"`
	Quantize *QuantizeRequest `json:"quantize,omitempty"`
}

// TokenizeRequest asks for the ids of texts.
type TokenizeRequest struct {
	Model        string   `json:"model"`
	Texts        []string `json:"texts"`
	AddSpecial   bool     `json:"add_special,omitempty"`
	ParseSpecial bool     `json:"parse_special,omitempty"`
}

// Response answers a Request: an error, or what the Op gives. A recording is not in it, it was written to Out.
type Response struct {
	Error        string       `json:"error,omitempty"`
	NotAvailable bool         `json:"not_available,omitempty"` // the error is that there is no library
	Info         *Info        `json:"info,omitempty"`
	IDs          [][]int32    `json:"ids,omitempty"`
	Bench        *BenchResult `json:"bench,omitempty"`
}

// Serve does one Request read from in and writes the Response to out. The error it returns is about in and out only.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var q Request
	if err := json.NewDecoder(in).Decode(&q); err != nil {
		return fmt.Errorf("llamacpp: request: %w", err)
	}
	r, err := Do(ctx, q)
	if err != nil {
		var none *NotAvailableError
		r = &Response{Error: err.Error(), NotAvailable: errors.As(err, &none)}
	}
	return json.NewEncoder(out).Encode(r)
}

// Do does one Request in this process.
func Do(ctx context.Context, q Request) (*Response, error) {
	l, err := Open(q.Dir, q.Variant)
	if err != nil {
		return nil, err
	}
	info := l.Info()
	r := &Response{Info: &info}
	switch {
	case q.Op == "info":
	case q.Op == "tokenize" && q.Tokenize != nil:
		r.IDs, err = l.tokenize(*q.Tokenize)
	case q.Op == "record" && q.Record != nil && q.Out != "":
		var e *oracle.Evidence
		if e, err = Record(ctx, l, *q.Record); err == nil {
			err = oracle.Save(q.Out, e)
		}
	case q.Op == "bench" && q.Bench != nil:
		r.Bench, err = Bench(ctx, l, *q.Bench)
	case q.Op == "quantize" && q.Quantize != nil:
		err = l.Quantize(*q.Quantize)
	default:
		err = &CallError{Call: "Do", Detail: fmt.Sprintf("op %.40q, or the fields it needs are missing", q.Op)}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (l *Library) tokenize(q TokenizeRequest) ([][]int32, error) {
	m, err := l.Load(q.Model, ModelOptions{VocabOnly: true})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	all := make([][]int32, 0, len(q.Texts))
	for _, s := range q.Texts {
		ids, err := m.Tokenize(s, q.AddSpecial, q.ParseSpecial)
		if err != nil {
			return nil, err
		}
		all = append(all, ids)
	}
	return all, nil
}
