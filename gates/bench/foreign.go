package bench

import (
	"fmt"
	"time"

	"assay/snapshots"
)

// Foreign work is CPU time that neither this process nor its samples used.
const (
	foreignLimit = 0.10                   // of all CPUs, unless the options say otherwise; more is warned of
	foreignLeast = 200 * time.Millisecond // of watching: the system counts in hundredths of a second
)

// Watch measures foreign work from a moment on.
type Watch struct {
	started   time.Time
	busy, own float64
	ok        bool
}

// StartWatch begins now.
func StartWatch() Watch {
	w := Watch{started: time.Now(), own: ownTime()}
	w.busy, _, w.ok = busyTime()
	return w
}

// Foreign is the CPU time in seconds that others have used since the start, and
// the time that all CPUs together had; ok is false where it cannot be told. The
// system counts in hundredths of a second per CPU.
func (w Watch) Foreign() (used, had float64, ok bool) {
	elapsed := time.Since(w.started).Seconds()
	busy, cpus, known := busyTime()
	if !w.ok || !known {
		return 0, 0, false
	}
	return max(0, (busy-w.busy)-(ownTime()-w.own)), elapsed * float64(cpus), true
}

// share is the part of the machine that others used since the start; ok is false
// when it cannot be told.
func (w Watch) share() (share float64, ok bool) {
	if time.Since(w.started) < foreignLeast {
		return 0, false
	}
	used, had, ok := w.Foreign()
	if !ok {
		return 0, false
	}
	return used / had, true
}

// foreignWarning tells of the samples during which the machine was busy.
func foreignWarning(shares []float64, limit float64) string {
	busy, most := 0, 0.0
	for _, s := range shares {
		if s > limit {
			busy++
		}
		most = max(most, s)
	}
	if busy == 0 {
		return ""
	}
	return fmt.Sprintf("the machine was busy with other work during %d of %d samples (up to %.0f %% of its CPUs): do not trust these times", busy, len(shares), 100*most)
}

// mostlyBusy tells whether others worked during more than half of the samples:
// then a median is one of disturbed times.
func mostlyBusy(shares []float64, limit float64) bool {
	busy := 0
	for _, s := range shares {
		if s > limit {
			busy++
		}
	}
	return 2*busy > len(shares)
}

// voidBusy makes every phase void and drops the ratios: the times stay to be
// looked at, and answer nothing.
func voidBusy(b *snapshots.Bench) {
	b.Ratios = nil
	for i := range b.Runs {
		for j := range b.Runs[i].Phases {
			if p := &b.Runs[i].Phases[j]; p.Void == "" {
				p.Void = "machine busy"
			}
		}
	}
}
