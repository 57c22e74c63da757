//go:build !(linux && amd64)

package llamacpp

import "runtime"

const supported = false

func newCallback(any) uintptr { return 0 }

func bind(string) (*api, error) {
	return nil, &NotAvailableError{Reason: "the library is published for linux/amd64, this is " + runtime.GOOS + "/" + runtime.GOARCH}
}
