//go:build race

package race

import (
	"runtime"
	"unsafe"
)

// Enabled tells whether the race detector is built in.
const Enabled = true

// Read marks the elements of s as read by the caller.
func Read[T any](s []T) {
	if len(s) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(unsafe.SliceData(s)), len(s)*int(unsafe.Sizeof(s[0])))
	}
}

// Write marks the elements of s as written by the caller.
func Write[T any](s []T) {
	if len(s) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(unsafe.SliceData(s)), len(s)*int(unsafe.Sizeof(s[0])))
	}
}
