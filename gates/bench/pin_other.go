//go:build !linux

package bench

import "os/exec"

// startOn starts a process; this system cannot be told on which cores.
func startOn(cmd *exec.Cmd, _ []int) error { return cmd.Start() }

// Cores is nil: this system cannot be told on which cores to run.
func Cores(int) []int { return nil }
