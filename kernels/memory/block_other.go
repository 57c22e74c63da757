//go:build !linux

package memory

// Block is a zeroed range of memory.
type Block struct{ Data []byte }

// Alloc returns n bytes from the Go heap.
func Alloc(n int) (*Block, error) { return &Block{Data: make([]byte, n)}, nil }

// AllocSmallPages is Alloc.
func AllocSmallPages(n int) (*Block, error) { return Alloc(n) }

// Free drops the memory.
func (b *Block) Free() error {
	if b != nil {
		b.Data = nil
	}
	return nil
}
