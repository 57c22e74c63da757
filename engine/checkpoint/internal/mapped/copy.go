package mapped

import (
	"io"
	"os"
)

// loadCopy reads the whole file into memory, for systems and file systems
// without maps.
func loadCopy(f *os.File, size int) ([]byte, func() error, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}
