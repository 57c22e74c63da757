package gates

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"assay/kernels/cpu"
	"assay/snapshots"
)

// newReport begins a report of this process.
func newReport(started time.Time) *snapshots.Report {
	return &snapshots.Report{
		Format:  snapshots.ReportFormat,
		Started: started.UTC().Truncate(time.Second),
		Command: strings.Join(append([]string{"validate"}, os.Args[1:]...), " "),
		Version: Version(),
		Machine: Machine(),
	}
}

// Machine describes where this process runs; ceilings are measured elsewhere.
func Machine() snapshots.Machine {
	m := snapshots.Machine{CPU: cpuid.CPU.BrandName, Cores: runtime.NumCPU(), Go: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0), OS: runtime.GOOS + "/" + runtime.GOARCH}
	if level, err := cpu.Default(); err == nil {
		m.Level = level.String()
	}
	return m
}

// Version is the revision that this binary was built from, as far as the Go
// command recorded it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	if revision == "" {
		return info.Main.Version
	}
	return revision[:min(12, len(revision))] + modified
}
