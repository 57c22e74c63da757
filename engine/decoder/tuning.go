package decoder

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Tuning turns mechanisms of the engine off or sets their sizes, for
// experiments. The zero value is what the engine does by itself. None changes a
// bit of the results.
type Tuning struct {
	SmallPages bool    // hugepages=off: weights in 4 KB pages
	Goroutines bool    // pool=goroutines: a goroutine per worker and loop
	NoPrefetch bool    // prefetch=off: single-column products without prefetch
	Separate   bool    // fuse=off: gate, up and activation as three loops
	Columns    int     // columns=N: panel width, 1..8
	Grain      int     // grain=N: groups of 16 rows per chunk
	Batch      int     // batch=N: tokens per pass, 1..MaxBatch
	Slow       float64 // slow=F: stretches each matrix product by this part of its time
}

// ParseTuning reads "key=value,key=value".
func ParseTuning(text string) (t Tuning, err error) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		key, value, _ := strings.Cut(item, "=")
		if err := t.set(key, value); err != nil {
			return Tuning{}, fmt.Errorf("tuning %q: %w", item, err)
		}
	}
	return t, nil
}

func (t *Tuning) set(key, value string) error {
	word := func(dst *bool, want string) error {
		if value != want {
			return fmt.Errorf("want %s=%s", key, want)
		}
		*dst = true
		return nil
	}
	number := func(dst *int, most int) (err error) {
		if *dst, err = strconv.Atoi(value); err == nil && (*dst < 1 || *dst > most) {
			err = fmt.Errorf("want 1 to %d", most)
		}
		return err
	}
	switch key {
	case "hugepages":
		return word(&t.SmallPages, "off")
	case "pool":
		return word(&t.Goroutines, "goroutines")
	case "prefetch":
		return word(&t.NoPrefetch, "off")
	case "fuse":
		return word(&t.Separate, "off")
	case "columns":
		return number(&t.Columns, 8)
	case "grain":
		return number(&t.Grain, 1<<20)
	case "batch":
		return number(&t.Batch, MaxBatch)
	case "slow":
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || !(f >= 0 && f <= 10) {
			return fmt.Errorf("want a number from 0 to 10")
		}
		t.Slow = f
		return nil
	}
	return fmt.Errorf("unknown knob (hugepages, pool, prefetch, fuse, columns, grain, batch, slow)")
}

// variant names the kernels that the tuning asks for.
func (t Tuning) variant() string {
	if t.NoPrefetch {
		return "plain"
	}
	return ""
}

// counters prove that a mechanism ran.
type counters struct {
	smallPages, goroutines, plain, separate, columns, grain, batch, slow atomic.Int64
}

// count notes what the next product uses.
func (r *Runner) count(ms []*Matrix) {
	if r.tuning == (Tuning{}) {
		return
	}
	add := func(on bool, c *atomic.Int64) {
		if on {
			c.Add(1)
		}
	}
	plain := false
	for _, m := range ms {
		plain = plain || m.kernel.Variant == "plain"
	}
	add(r.tuning.SmallPages, &r.counters.smallPages)
	add(r.tuning.Goroutines && r.pool.Spawns(), &r.counters.goroutines)
	add(plain && r.product.n == 1, &r.counters.plain)
	add(r.tuning.Columns > 0 && r.product.n > r.tuning.Columns, &r.counters.columns)
	add(r.tuning.Grain > 0, &r.counters.grain)
	add(r.tuning.Batch > 0, &r.counters.batch)
}

// Counters tells, by knob, how often the tuned mechanism was used.
func (r *Runner) Counters() map[string]int64 {
	c := &r.counters
	all := map[string]*atomic.Int64{
		"hugepages": &c.smallPages, "pool": &c.goroutines, "prefetch": &c.plain, "fuse": &c.separate,
		"columns": &c.columns, "grain": &c.grain, "batch": &c.batch, "slow": &c.slow,
	}
	out := map[string]int64{}
	for name, n := range all {
		if v := n.Load(); v > 0 {
			out[name] = v
		}
	}
	return out
}

// stretch keeps a worker busy until the time since start has grown by the tuned
// part.
func (r *Runner) stretch(start time.Time) {
	r.counters.slow.Add(1)
	until := time.Duration(float64(time.Since(start)) * (1 + r.tuning.Slow))
	for time.Since(start) < until {
	}
}

// separate is the feed-forward's first half as three parallel loops.
func (r *Runner) separate(y *Layer, n int) {
	r.counters.separate.Add(1)
	r.multiply(y.ffn[:1], n, keep, r.gate)
	r.multiply(y.ffn[1:], n, keep, r.up)
	r.pool.For(r.spec.FFN, 1024, &activateJob{r, n})
}

type activateJob struct {
	r *Runner
	n int
}

// Do activates the rows [lo, hi).
func (j *activateJob) Do(_, lo, hi int) { j.r.activate(j.n, lo, hi) }
