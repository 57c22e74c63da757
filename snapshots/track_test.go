package snapshots

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func trackOf(medians ...float64) *Track {
	t := &Track{Of: "x", Phase: "decode"}
	for i, m := range medians {
		t.Points = append(t.Points, Point{Snapshot: fmt.Sprint(i), Median: m, Low: m * 0.99, High: m * 1.01})
	}
	return t
}

func TestChangePointsNeedSeparationAndSize(t *testing.T) {
	for _, c := range []struct {
		name    string
		track   *Track
		changes []ChangePoint
	}{
		{"faster from the fourth on", trackOf(10, 10.1, 9.9, 10, 8, 8.1, 7.9, 8), []ChangePoint{{4, 1.25}}},
		{"slower", trackOf(8, 8.1, 7.9, 8, 10, 10.1, 9.9, 10), []ChangePoint{{4, 0.8}}},
		{"too few", trackOf(10, 10, 10, 8, 8, 8, 8), nil},
		{"within the floor", trackOf(10, 10, 10, 10, 9.95, 9.95, 9.95, 9.95), nil},
		{"one point is not separated", trackOf(10, 10, 7, 10, 8, 8, 8, 8), nil},
		{"nothing", trackOf(), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.track.Changes(4)
			require.Len(t, got, len(c.changes))
			for i := range got {
				assert.Equal(t, c.changes[i].At, got[i].At)
				assert.InDelta(t, c.changes[i].Ratio, got[i].Ratio, 0.01)
			}
		})
	}
	assert.Empty(t, trackOf(1, 2, 3).Changes(0))
}

func TestSupersededPointsCountForNothing(t *testing.T) {
	x := trackOf(10, 10, 7, 10, 10, 8, 8, 8, 8)
	assert.Empty(t, x.Changes(4))
	x.Points[2].Superseded = "busy"
	require.Len(t, x.Changes(4), 1)
	assert.Equal(t, 5, x.Changes(4)[0].At, "the index is that of all points")
	assert.Equal(t, 10.0, Middle(x.Points[:5]))
}

func TestNeighbouringCandidatesAreOneChange(t *testing.T) {
	x := trackOf(10, 10, 10, 10, 9, 8, 8, 8, 8, 8)
	assert.Len(t, x.Changes(4), 1)
	two := trackOf(10, 10, 10, 10, 8, 8, 8, 8, 10, 10, 10, 10)
	assert.Len(t, two.Changes(4), 2)
}

// A separation of 4 from 4 comes by chance once in 35; the floor of points whose
// spread is that of their intervals leaves fewer.
func TestChangePointsAreRareWhereNothingChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	found := 0
	for range 2000 {
		var m []float64
		for range 8 {
			m = append(m, 10*(1+0.01*r.NormFloat64()))
		}
		found += len(trackOf(m...).Changes(4))
	}
	assert.Less(t, found, 2000/35)
}

func TestTracksAreSortedByMachine(t *testing.T) {
	a, b := earlier(), snapshot()
	other := snapshot()
	other.MachineID, other.Name = "ffffffffffff", "other"
	b.Superseded = &Superseded{Reason: "busy"}
	tracks := Tracks([]*Report{a, b, other})
	var decode []*Track
	for _, t := range tracks {
		if t.Phase == "decode" {
			decode = append(decode, t)
		}
	}
	require.Len(t, decode, 2)
	assert.Equal(t, "tiny-Q4_0.gguf 2 threads int8 decode", decode[0].Name())
	require.Len(t, decode[0].Points, 2)
	assert.Equal(t, "busy", decode[0].Points[1].Superseded)
	for _, x := range tracks {
		assert.NotEqual(t, "restore", x.Phase, "void phases have no history")
		assert.NotContains(t, x.Of, "ProductQ4_0")
	}
}
