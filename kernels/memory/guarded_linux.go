package memory

import "golang.org/x/sys/unix"

// Guarded is memory for tests: the page before Data and the page behind it
// cannot be touched, so a kernel that reads or writes one byte too far crashes.
// Data ends exactly at the page behind it; with front it starts exactly behind
// the page before it.
type Guarded struct {
	mapping []byte
	Data    []byte
}

// NewGuarded makes n guarded bytes.
func NewGuarded(n int, front bool) (*Guarded, error) {
	page := unix.Getpagesize()
	body := (n + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, body+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	for _, guard := range [][]byte{m[:page], m[page+body:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			return nil, err
		}
	}
	at := page + body - n
	if front {
		at = page
	}
	return &Guarded{m, m[at : at+n : at+n]}, nil
}

// Free gives the memory back.
func (g *Guarded) Free() error { return unix.Munmap(g.mapping) }
