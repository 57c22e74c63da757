// Command validate is the harness: see the package assay/gates/command.
package main

import (
	"os"

	"assay/gates/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr)) }
