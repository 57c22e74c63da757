package experiment

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func (i *Identity) fill() {
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		i.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	for line := range strings.Lines(content("/proc/cpuinfo")) {
		key, value, _ := strings.Cut(line, ":")
		switch key, value = strings.TrimSpace(key), strings.TrimSpace(value); {
		case key == "microcode" && i.Microcode == "":
			i.Microcode = value
		case key == "model name" && i.CPU == "":
			i.CPU = value
		}
	}
	i.MemoryMiB = memory(content("/proc/meminfo"))
	i.Governor = content("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	i.HugePages = chosen(content("/sys/kernel/mm/transparent_hugepage/enabled"))
	i.CPULimit = content("/sys/fs/cgroup/cpu.max")
	i.MemLimit = content("/sys/fs/cgroup/memory.max")
}

func content(path string) string {
	b, _ := os.ReadFile(path) // what is not there is not known
	return strings.TrimSpace(string(b))
}

// memory reads MemTotal in MiB, rounded to 64: the kernel keeps a bit for itself,
// not always the same.
func memory(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "MemTotal:" {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			return (kb>>10 + 32) &^ 63
		}
	}
	return 0
}

// chosen is the word in brackets: "always [madvise] never".
func chosen(s string) string {
	_, s, _ = strings.Cut(s, "[")
	s, _, _ = strings.Cut(s, "]")
	return s
}
