//go:build !amd64

package parallel

import "runtime"

// spin lets another goroutine run; there is no portable pause instruction.
func spin() { runtime.Gosched() }
