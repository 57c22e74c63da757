package tokenizer

import "fmt"

// Error tells what is wrong with a tokenizer and where. It reads like
//
//	tokenizer.json: pre_tokenizer: type "X" is not supported
type Error struct {
	File   string // base name or path of the file, or "gguf"
	Field  string // dotted path of the field, "" when the whole file is meant
	Reason string // what is wrong, with the offending value quoted
	Err    error  // underlying error, may be nil
}

func (e *Error) Error() string {
	s := e.File
	if e.Field != "" {
		if s != "" {
			s += ": "
		}
		s += e.Field
	}
	if s != "" {
		s += ": "
	}
	s += e.Reason
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the underlying error.
func (e *Error) Unwrap() error { return e.Err }

func fieldError(field, format string, args ...any) *Error {
	return &Error{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// inFile names the file in an *Error that was made without one.
func inFile(err error, file string) error {
	if e, ok := err.(*Error); ok && e.File == "" {
		e.File = file
	}
	return err
}
