//go:build linux

package memory

import "unsafe"

// alignment is the distance from the start of m to the next huge page.
func alignment(m []byte) int {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(m)))
	return int(-at & (hugePage - 1))
}
