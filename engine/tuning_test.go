package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/decoder"
	"assay/kernels/cpu"
)

func TestEveryKnobRunsItsMechanismAndChangesNoBit(t *testing.T) {
	ctx := context.Background()
	run := func(knob string) ([]uint32, map[string]int64) {
		tuning, err := decoder.ParseTuning(knob)
		require.NoError(t, err)
		m := open(t, tiny, Options{Threads: 2, Tuning: tuning})
		s := session(t, m, SessionOptions{})
		require.NoError(t, s.Prefill(ctx, story))
		require.NoError(t, s.Decode(ctx, 302))
		return bits(s), m.Counters()
	}
	level, err := cpu.Default() // plain Go has no prefetch to leave out
	require.NoError(t, err)
	want, none := run("")
	assert.Empty(t, none)
	for name, knob := range map[string]string{
		"hugepages": "hugepages=off", "pool": "pool=goroutines", "prefetch": "prefetch=off", "fuse": "fuse=off",
		"columns": "columns=4", "grain": "grain=1", "batch": "batch=5", "slow": "slow=0.05",
	} {
		got, counters := run(knob)
		assert.Equal(t, want, got, knob)
		if name == "prefetch" && level == cpu.Scalar {
			continue
		}
		assert.Positive(t, counters[name], "%s: %v", knob, counters)
	}
}

func TestUnknownKnobsAndValuesAreRefused(t *testing.T) {
	for _, bad := range []string{"colour=red", "columns=0", "columns=9", "grain=x", "hugepages=on", "slow=-1", "slow=NaN", "batch=100000"} {
		_, err := decoder.ParseTuning(bad)
		assert.ErrorContains(t, err, bad)
	}
	got, err := decoder.ParseTuning("columns=4, fuse=off")
	require.NoError(t, err)
	assert.Equal(t, decoder.Tuning{Columns: 4, Separate: true}, got)
}
