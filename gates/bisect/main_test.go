package bisect_test

import (
	"os"
	"testing"

	"assay/gates/command"
)

// TestMain lets the test binary be the program of a revision.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "record" {
		os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
