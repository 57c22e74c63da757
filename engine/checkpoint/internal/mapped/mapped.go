package mapped

import (
	"fmt"
	"sync"

	"assay/engine/checkpoint/regular"
)

// File is the content of one file. The bytes are read-only (writing to them
// faults where they are mapped) and valid until Close.
type File struct {
	Path string
	data []byte

	once  sync.Once
	close func() error
}

// Open maps the regular file at path.
func Open(path string) (*File, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := st.Size()
	if int64(int(size)) != size {
		return nil, fmt.Errorf("%s: %d bytes do not fit this machine's address space", path, size)
	}
	m := &File{Path: path, close: func() error { return nil }}
	if size == 0 {
		return m, nil // an empty mapping is an error on most systems
	}
	m.data, m.close, err = load(f, int(size))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.enlist()
	return m, nil
}

// Bytes is the whole file.
func (m *File) Bytes() []byte { return m.data }

// Release tells the system that the bytes in b, a part of Bytes, will not be
// needed soon: its whole pages leave the resident set. They stay valid; another
// read brings them back from the file.
func (m *File) Release(b []byte) error { return release(m.data, b) }

// Close ends the mapping. It may be called twice.
func (m *File) Close() error {
	var err error
	m.once.Do(func() {
		m.retire()
		m.data = nil
		err = m.close()
	})
	return err
}
