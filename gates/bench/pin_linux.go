package bench

import (
	"errors"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// startOn starts a process that runs on the given cores only: a child inherits the
// affinity of the thread that starts it. Systems that refuse run it on any.
func startOn(cmd *exec.Cmd, cores []int) (err error) {
	if len(cores) == 0 {
		return cmd.Start()
	}
	var before, set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.SchedGetaffinity(0, &before) != nil || unix.SchedSetaffinity(0, &set) != nil {
		return cmd.Start()
	}
	defer func() { err = errors.Join(err, unix.SchedSetaffinity(0, &before)) }()
	return cmd.Start()
}

// Cores are n of the cores that this process may run on, the last ones: systems
// tend to serve interrupts on the first. It is nil when there are fewer.
func Cores(n int) []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil || n < 1 {
		return nil
	}
	var cores []int
	for c := len(set)*64 - 1; c >= 0 && len(cores) < n; c-- {
		if set.IsSet(c) {
			cores = append(cores, c)
		}
	}
	if len(cores) < n {
		return nil
	}
	return cores
}
