// Package cpu names the levels at which kernels are written, detects the best
// one this machine can run, and lets a user force a lower one. It must not know
// what the kernels compute.
package cpu
