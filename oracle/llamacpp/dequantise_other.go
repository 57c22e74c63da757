//go:build !(linux && amd64)

package llamacpp

func rowDecoder(string) (func(src *byte, dst *float32, n int64), error) {
	return nil, &NotAvailableError{Reason: "the binding is for linux/amd64"}
}
