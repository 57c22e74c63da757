package fault

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMessagesNameFormatItemFileAndByte(t *testing.T) {
	for want, e := range map[string]*Error{
		`gguf: tensor 3 "q": dims overflow (m.gguf, byte 431)`: {Format: "gguf", File: "m.gguf", Item: `tensor 3 "q"`, Offset: 431, Reason: "dims overflow"},
		`config: key "x": is missing (c.json)`:                 {Format: "config", File: "c.json", Item: `key "x"`, Offset: NoOffset, Reason: "is missing"},
		`gguf: no magic (byte 0)`:                              {Format: "gguf", Reason: "no magic"},
		`gguf: cannot open: file does not exist`:               {Format: "gguf", Offset: NoOffset, Reason: "cannot open", Err: fs.ErrNotExist},
	} {
		assert.Equal(t, want, e.Error())
	}
}

func TestCausesAreUnwrapped(t *testing.T) {
	assert.ErrorIs(t, &Error{Err: fs.ErrNotExist}, fs.ErrNotExist)
	var e *Error
	assert.True(t, errors.As(error(&Error{Reason: "x"}), &e))
}

func TestHostileNamesDoNotFloodTheMessage(t *testing.T) {
	e := &Error{Format: "gguf", Item: strings.Repeat("é", 1<<20), Reason: strings.Repeat("x", 1<<20)}
	assert.Less(t, len(e.Error()), 1100)
}

func TestListsAreWrittenAsShapes(t *testing.T) {
	assert.Equal(t, "[16, 264]", List([]int{16, 264}))
	assert.Equal(t, "[]", List([]uint64{}))
}
