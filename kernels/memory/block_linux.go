package memory

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// Block is a zeroed range of memory. The garbage collector neither scans nor
// frees it.
type Block struct {
	mapping []byte
	Data    []byte
}

// Alloc returns n bytes, aligned to a huge page. Pages are touched only when
// they are written.
func Alloc(n int) (*Block, error) { return alloc(n, unix.MADV_HUGEPAGE) }

// AllocSmallPages is Alloc without huge pages, for experiments.
func AllocSmallPages(n int) (*Block, error) { return alloc(n, unix.MADV_NOHUGEPAGE) }

func alloc(n, advice int) (*Block, error) {
	if n == 0 {
		return &Block{}, nil
	}
	m, err := unix.Mmap(-1, 0, n+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("memory: %d bytes: %w", n, err)
	}
	skip := alignment(m)
	b := &Block{mapping: m, Data: m[skip : skip+n : skip+n]}
	if n >= hugePage {
		// A refusal only costs speed: the system may have no huge pages.
		_ = unix.Madvise(m[skip:], advice)
	}
	return b, nil
}

// Free gives the memory back. Data must not be touched afterwards.
func (b *Block) Free() error {
	if b == nil || b.mapping == nil {
		return nil
	}
	m := b.mapping
	b.mapping, b.Data = nil, nil
	return unix.Munmap(m)
}
