package regular

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// Open opens the regular file at path for reading. It never waits: a pipe
// without a writer is refused like everything else that is no file.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads the regular file at path, of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > limit {
		return nil, fmt.Errorf("%s: it has %d bytes, at most %d are allowed", path, st.Size(), limit)
	}
	return whole(f, limit)
}

// ReadAny is Read for what a user names alone, which may also be a pipe such as
// /dev/stdin. It waits for the writer of one.
func ReadAny(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return whole(f, limit)
}

// whole reads to the end, wherever the size says that it is.
func whole(f *os.File, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: it has more than the %d bytes that are allowed", f.Name(), limit)
	}
	return b, nil
}
