package gguf

import (
	"encoding/binary"
	"fmt"

	"assay/engine/checkpoint/fault"
)

// cursor walks the header. Its methods return an error instead of reading
// beyond the end, and name the item that is being read.
type cursor struct {
	data []byte
	pos  int
	file string
	item string
}

func (c *cursor) fail(format string, args ...any) error {
	return c.failAt(int64(c.pos), format, args...)
}

func (c *cursor) failAt(offset int64, format string, args ...any) error {
	return &fault.Error{Format: "gguf", File: c.file, Item: c.item, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

func (c *cursor) left() int { return len(c.data) - c.pos }

func (c *cursor) take(n int, what string) ([]byte, error) {
	if n > c.left() {
		return nil, c.fail("%s needs %d bytes, the file ends after %d more: truncated", what, n, c.left())
	}
	b := c.data[c.pos : c.pos+n : c.pos+n]
	c.pos += n
	return b, nil
}

func (c *cursor) u32(what string) (uint32, error) {
	b, err := c.take(4, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (c *cursor) u64(what string) (uint64, error) {
	b, err := c.take(8, what)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// bytes reads a string: a length and so many bytes.
func (c *cursor) bytes(what string) ([]byte, error) {
	at := c.pos
	n, err := c.u64("the length of a string")
	if err != nil {
		return nil, err
	}
	if n > uint64(c.left()) {
		return nil, c.failAt(int64(at), "%s has length %d, beyond the end of the file (%d bytes left)", what, n, c.left())
	}
	return c.take(int(n), what)
}

// count reads a number of entries that take at least so many bytes each.
func (c *cursor) count(what string, least int) (int, error) {
	at := c.pos
	n, err := c.u64(what)
	if err != nil {
		return 0, err
	}
	if n > uint64(c.left()/least) {
		return 0, c.failAt(int64(at), "%s is %d, but before the end of the file is room for at most %d", what, n, c.left()/least)
	}
	return int(n), nil
}
