//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package mapped

import (
	"io"
	"os"
)

func load(f *os.File, size int) ([]byte, func() error, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}

// release has nothing to give back: the copy is the only one.
func release(_, _ []byte) error { return nil }
