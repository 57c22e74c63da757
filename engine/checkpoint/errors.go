package checkpoint

import (
	"fmt"

	"assay/engine/checkpoint/fault"
)

// Error is what Open returns for a file that it refuses: format, file, item,
// byte where known, and reason. Use errors.As.
type Error = fault.Error

func refuse(format, file, item, reason string, args ...any) error {
	return &fault.Error{Format: format, File: file, Item: item, Offset: fault.NoOffset, Reason: fmt.Sprintf(reason, args...)}
}
