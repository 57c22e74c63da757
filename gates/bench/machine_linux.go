package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peakRSS is the largest resident size of this process so far.
func peakRSS() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "VmHWM:" {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// busyTime is the CPU time that all processes have used since the machine
// started, in seconds, and the number of its CPUs.
func busyTime() (seconds float64, cpus int, ok bool) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, false
	}
	return parseStat(b)
}

// parseStat reads user, nice, system, irq, softirq and steal of all CPUs. Time of
// guests is part of user. A tick is a hundredth of a second on every Linux.
func parseStat(b []byte) (seconds float64, cpus int, ok bool) {
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) < 9 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		if f[0] != "cpu" {
			cpus++
			continue
		}
		for _, i := range []int{1, 2, 3, 6, 7, 8} {
			ticks, err := strconv.ParseUint(f[i], 10, 64)
			if err != nil {
				return 0, 0, false
			}
			seconds += float64(ticks) / 100
		}
		ok = true
	}
	return seconds, cpus, ok && cpus > 0
}

// ownTime is the CPU time of this process and of the children it waited for.
func ownTime() float64 {
	var sum float64
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err == nil {
			sum += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
		}
	}
	return sum
}

// lastLevelCache is the size of all caches of the highest level together; 0 when
// the system does not tell.
func lastLevelCache() int { return lastLevelCacheBelow("/sys/devices/system/cpu") }

func lastLevelCacheBelow(root string) (total int) {
	dirs, _ := filepath.Glob(filepath.Join(root, "cpu[0-9]*", "cache", "index*"))
	highest := 0
	seen := map[string]bool{}
	for _, dir := range dirs {
		read := func(name string) string {
			b, _ := os.ReadFile(filepath.Join(dir, name))
			return strings.TrimSpace(string(b))
		}
		level, _ := strconv.Atoi(read("level"))
		size := kilobytes(read("size"))
		if size == 0 || level < highest || read("type") == "Instruction" {
			continue
		}
		if level > highest {
			highest, total = level, 0
			clear(seen)
		}
		if shared := read("shared_cpu_list"); !seen[shared] {
			seen[shared] = true
			total += size
		}
	}
	return total
}

// kilobytes reads "32768K".
func kilobytes(s string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(s, "K"))
	if err != nil || n < 0 {
		return 0
	}
	return n << 10
}
