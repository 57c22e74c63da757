//go:build unix

package experiment

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other processes from writing; the system releases it with the file.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return &BusyError{f.Name()}
	}
	return err
}

// syncDir brings the name of a new file to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
