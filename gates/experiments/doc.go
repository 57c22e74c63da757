// Package experiments holds the pre-registered experiments, one YAML file each. It
// must not know how they are run.
package experiments

import "embed"

// Files are the experiments.
//
//go:embed *.yaml
var Files embed.FS
