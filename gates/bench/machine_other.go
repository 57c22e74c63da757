//go:build !linux

package bench

import "github.com/klauspost/cpuid/v2"

func peakRSS() int64 { return 0 }

func busyTime() (seconds float64, cpus int, ok bool) { return 0, 0, false }

func ownTime() float64 { return 0 }

func lastLevelCache() int { return max(cpuid.CPU.Cache.L3, cpuid.CPU.Cache.L2, 0) }
