package mapped

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"unsafe"
)

// VanishedError is a read of mapped bytes that the file no longer has: somebody
// cut it short, or its disk fails.
type VanishedError struct {
	Path   string
	Offset int64 // of the byte that could not be read
}

func (e *VanishedError) Error() string {
	return fmt.Sprintf("%s: byte %d can no longer be read: the file was cut short while in use, or its disk fails", e.Path, e.Offset)
}

// live are the mappings of the process, for telling which file a fault is of.
var live struct {
	sync.Mutex
	files []*File
}

func (m *File) enlist() {
	live.Lock()
	defer live.Unlock()
	live.files = append(live.files, m)
}

func (m *File) retire() {
	live.Lock()
	defer live.Unlock()
	live.files = slices.DeleteFunc(live.files, func(f *File) bool { return f == m })
}

// vanished is the error for a fault at an address; nil where no mapping is.
func vanished(at uintptr) error {
	live.Lock()
	defer live.Unlock()
	for _, m := range live.files {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(m.data)))
		page := uintptr(1 << 16) // the last page reaches beyond the bytes
		if at >= start && at < start+uintptr(len(m.data))+page {
			return &VanishedError{m.Path, int64(at - start)}
		}
	}
	return nil
}

// Watch makes faults of this goroutine panics, which Catch turns into errors;
// without it a fault ends the process. It gives what Catch must put back:
//
//	defer mapped.Catch(&err, mapped.Watch())
func Watch() (before bool) { return debug.SetPanicOnFault(true) }

// Catch, deferred, turns a fault in a mapping into a *VanishedError.
func Catch(err *error, before bool) { Settle(err, before, recover()) }

// Settle is Catch for what was recovered already: p, nil for nothing.
func Settle(err *error, before bool, p any) {
	debug.SetPanicOnFault(before)
	if p == nil {
		return
	}
	if fault, ok := p.(interface{ Addr() uintptr }); ok {
		if e := vanished(fault.Addr()); e != nil {
			*err = e
			return
		}
	}
	panic(p)
}
