package bench

import (
	"fmt"
	"time"
)

// Foreign work is CPU time that neither this process nor its samples used.
const (
	foreignLimit = 0.10                   // of all CPUs; more is warned of
	foreignLeast = 200 * time.Millisecond // of watching: the system counts in hundredths of a second
)

// watch measures foreign work.
type watch struct {
	started   time.Time
	busy, own float64
	ok        bool
}

func startWatch() watch {
	w := watch{started: time.Now(), own: ownTime()}
	w.busy, _, w.ok = busyTime()
	return w
}

// share is the part of the machine that others used since the start; ok is false
// when it cannot be told.
func (w watch) share() (share float64, ok bool) {
	elapsed := time.Since(w.started)
	busy, cpus, known := busyTime()
	if !w.ok || !known || elapsed < foreignLeast {
		return 0, false
	}
	foreign := (busy - w.busy) - (ownTime() - w.own)
	return max(0, foreign/(elapsed.Seconds()*float64(cpus))), true
}

// foreignWarning tells of the samples during which the machine was busy.
func foreignWarning(shares []float64) string {
	busy, most := 0, 0.0
	for _, s := range shares {
		if s > foreignLimit {
			busy++
		}
		most = max(most, s)
	}
	if busy == 0 {
		return ""
	}
	return fmt.Sprintf("the machine was busy with other work during %d of %d samples (up to %.0f %% of its CPUs): do not trust these times", busy, len(shares), 100*most)
}
