package checkpoint

import "assay/engine/checkpoint/internal/mapped"

// VanishedError is a read of mapped bytes that the file no longer has: somebody
// cut it short while it was in use, or its disk fails.
type VanishedError = mapped.VanishedError

// Watch and Catch guard code that reads Tensor.Data. Files are mapped, and a
// file that is cut short takes its bytes along: without the guard the next read
// of them ends the process. The function that reads begins with
//
//	defer checkpoint.Catch(&err, checkpoint.Watch())
//
// and returns a *VanishedError then. It guards the calling goroutine alone.
func Watch() (before bool) { return mapped.Watch() }

// Catch is described at Watch.
func Catch(err *error, before bool) { mapped.Settle(err, before, recover()) }
