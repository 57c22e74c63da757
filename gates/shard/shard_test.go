package shard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/snapshots"
)

func TestShardsAreWrittenAsOneOfSo(t *testing.T) {
	s, err := Parse("2/4")
	require.NoError(t, err)
	assert.Equal(t, Shard{2, 4}, s)
	assert.Equal(t, "2/4", s.String())
	s, err = Parse("")
	require.NoError(t, err)
	assert.True(t, s.Whole())
	for _, text := range []string{"0/4", "5/4", "1/0", "-1/4", "2", "a/b", "1/4/2", "1/99999", "/"} {
		_, err := Parse(text)
		var syntax *SyntaxError
		assert.ErrorAs(t, err, &syntax, text)
	}
}

func cases(kinds ...int) (all []Case) {
	for k, n := range kinds {
		for i := range n {
			all = append(all, Case{Name: fmt.Sprintf("gate-%d on %d", k, i), Kind: fmt.Sprint("kind", k)})
		}
	}
	return all
}

func TestShardsHaveEachCaseOnceAndEqualParts(t *testing.T) {
	all := cases(7, 12, 1, 20)
	for n := 1; n <= 45; n++ {
		var found []int
		least, largest := len(all), 0
		for i := range n {
			mine := Shard{i + 1, n}.Split(all)
			assert.True(t, slices.IsSorted(mine))
			found = append(found, mine...)
			least, largest = min(least, len(mine)), max(largest, len(mine))
			kind := 0
			for _, j := range mine {
				if all[j].Kind == "kind3" {
					kind++
				}
			}
			assert.InDelta(t, 20/float64(n), kind, 1, "each shard has its part of every kind")
		}
		slices.Sort(found)
		assert.Equal(t, Shard{}.Split(all), found, "%d shards", n)
		assert.LessOrEqual(t, largest-least, 1, "%d shards", n)
	}
}

func TestWhoGetsACaseDependsOnNamesOnly(t *testing.T) {
	all := cases(7, 12)
	back := slices.Clone(all)
	slices.Reverse(back)
	name := func(list []Case, places []int) (names []string) {
		for _, i := range places {
			names = append(names, list[i].Name)
		}
		return slices.Sorted(slices.Values(names))
	}
	s := Shard{2, 3}
	assert.Equal(t, name(all, s.Split(all)), name(back, s.Split(back)))
	assert.NotEqual(t, Sum(all), Sum(back), "another order is another run: results carry places")
	assert.NotEqual(t, Sum(all), Sum(all[1:]))
}

// reports are those of n shards of ten cases, two results each.
func reports(n int) (all []*Report) {
	list := cases(10)
	for i := range n {
		s := Shard{i + 1, n}
		r := &snapshots.Report{
			Format: snapshots.ReportFormat, Started: time.Date(2026, 1, 2, 3, 4, 5-i, 0, time.UTC), Seconds: 1, Command: "validate gates", Version: "v",
			Machine: snapshots.Machine{CPU: "one", Level: "avx2"}, Shard: s.Index, Shards: n, CasesSHA256: Sum(list), Revision: "abc",
		}
		for _, j := range s.Split(list) {
			for _, check := range []string{"x", "y"} {
				r.Results = append(r.Results, snapshots.Result{Gate: list[j].Name, Check: check, Verdict: snapshots.Held, Case: j + 1})
			}
			r.Cases++
			r.Done++
		}
		all = append(all, &Report{fmt.Sprintf("shard-%d.json", i+1), r})
	}
	return all
}

func TestMergedShardsAreTheWholeRun(t *testing.T) {
	all := reports(3)
	slices.Reverse(all)
	m, err := Merge(all)
	require.NoError(t, err)
	require.Len(t, m.Results, 20)
	for i, x := range m.Results {
		assert.Equal(t, fmt.Sprintf("gate-0 on %d", i/2), x.Gate, "in the order of the whole run")
	}
	assert.Zero(t, m.ExitStatus())
	assert.Equal(t, 3.0, m.Seconds)
	assert.Equal(t, 3, m.Started.Second(), "the first to start")
	assert.Equal(t, 10, m.Cases)
	assert.Equal(t, 10, m.Done)
	assert.Equal(t, "validate gates (3 shards)", m.Command)
	assert.Equal(t, "one", m.Machine.CPU)
}

func TestMissingAndInterruptedShardsAreVoid(t *testing.T) {
	all := reports(4)
	all[1].Results, all[1].Done = all[1].Results[:2], 1
	all[0].Results[0].Verdict = snapshots.Failed
	m, err := Merge([]*Report{all[1], all[0]})
	require.NoError(t, err)
	var said []string
	for _, x := range m.Results {
		if x.Verdict == snapshots.Void {
			said = append(said, x.Gate+" "+x.Check+": "+x.Value)
		}
	}
	assert.Equal(t, []string{"shards 2/4: 1 of 3 cases", "shards 3/4: no report", "shards 4/4: no report"}, said)
	assert.Equal(t, 1, m.ExitStatus(), "a failure is one whatever is missing")
	all[0].Results[0].Verdict = snapshots.Held
	m, err = Merge([]*Report{all[1], all[0]})
	require.NoError(t, err)
	assert.Equal(t, 2, m.ExitStatus())
}

func TestReportsOfAnotherRunAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(all []*Report) []*Report
		says   string
	}{
		{"none", func([]*Report) []*Report { return nil }, "no reports"},
		{"twice", func(all []*Report) []*Report { return append(all, all[1]) }, "shard 2/3 twice"},
		{"revision", func(all []*Report) []*Report { all[1].Revision = "def"; return all }, "shard-2.json: another revision: def, that of shard-1.json is abc"},
		{"cases", func(all []*Report) []*Report { all[2].CasesSHA256 = "0"; return all }, "another list of cases"},
		{"number", func(all []*Report) []*Report { all[2].Shards = 5; return all }, "another number of shards: 5"},
		{"overlap", func(all []*Report) []*Report { all[2].Results[0].Case = all[0].Results[0].Case; return all }, "twice: also in shard-1.json"},
	} {
		_, err := Merge(c.change(reports(3)))
		var wrong *Error
		assert.ErrorAs(t, err, &wrong, c.name)
		assert.ErrorContains(t, err, c.says, c.name)
	}
}

func TestShardsOfSeveralMachinesNameThem(t *testing.T) {
	all := reports(3)
	all[1].Machine = snapshots.Machine{CPU: "two", Level: "scalar"}
	m, err := Merge(all)
	require.NoError(t, err)
	assert.Contains(t, m.Machine.CPU, "2 kinds of machines (one")
	assert.Equal(t, "several levels", m.Machine.Level)
}

func TestFilesThatAreNoReportsOfShardsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *snapshots.Report)
		says   string
	}{
		{"format", func(r *snapshots.Report) { r.Format = "other" }, "no report of the format"},
		{"whole", func(r *snapshots.Report) { r.Shards, r.Shard = 0, 0 }, "not the report of a shard"},
		{"index", func(r *snapshots.Report) { r.Shard = 9 }, "shard 9 of 3 cannot be"},
		{"revision", func(r *snapshots.Report) { r.Revision = "" }, "does not tell its revision"},
		{"done", func(r *snapshots.Report) { r.Done = -1 }, "cannot be"},
		{"results", func(r *snapshots.Report) { r.Results = r.Results[2:] }, "has results of"},
		{"place", func(r *snapshots.Report) { r.Results[0].Case = 0 }, "belongs to no case"},
	} {
		r := reports(3)[0]
		c.change(r.Report)
		b, err := json.Marshal(r.Report)
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "r.json")
		require.NoError(t, os.WriteFile(path, b, 0o644))
		_, err = Read(path)
		assert.ErrorContains(t, err, c.says, c.name)
	}
	path := filepath.Join(t.TempDir(), "r.json")
	for _, text := range []string{"", "null", "[]", "{"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := Read(path)
		assert.Error(t, err, text)
	}
	_, err := Read(filepath.Join(t.TempDir(), "none.json"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}
