//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package mapped

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func load(f *os.File, size int) ([]byte, func() error, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EINVAL) {
		return loadCopy(f, size) // the file system has no maps
	}
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return data, func() error { return unix.Munmap(data) }, nil
}

func release(all, part []byte) error {
	if len(part) == 0 || len(all) == 0 {
		return nil
	}
	page := os.Getpagesize()
	off := int(uintptr(unsafe.Pointer(unsafe.SliceData(part))) - uintptr(unsafe.Pointer(unsafe.SliceData(all))))
	if off < 0 || off+len(part) > len(all) {
		return os.ErrInvalid
	}
	from := (off + page - 1) / page * page
	to := (off + len(part)) / page * page
	if from >= to {
		return nil
	}
	return os.NewSyscallError("madvise", unix.Madvise(all[from:to], unix.MADV_DONTNEED))
}
