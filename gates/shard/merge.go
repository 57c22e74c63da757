package shard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/engine/checkpoint/regular"
	"assay/snapshots"
)

// maxReport is the largest report that is read, in bytes.
const maxReport = 256 << 20

// Gate is the name under which a merge tells what is missing.
const Gate = "shards"

// Report is the report of one shard and where it came from.
type Report struct {
	From string
	*snapshots.Report
}

// Error says why reports are not those of one run.
type Error struct{ From, Reason string }

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.From, e.Reason) }

// Read reads the report of a shard.
func Read(path string) (*Report, error) {
	b, err := regular.ReadAny(path, maxReport)
	if err != nil {
		return nil, err
	}
	r := &Report{From: path}
	if err := json.Unmarshal(b, &r.Report); err != nil {
		return nil, &Error{path, "it is no report: " + err.Error()}
	}
	if r.Report == nil || r.Format != snapshots.ReportFormat {
		return nil, &Error{path, "it is no report of the format " + snapshots.ReportFormat}
	}
	return r, r.check()
}

// check tells what is wrong with a report by itself.
func (r *Report) check() error {
	switch {
	case r.Shards == 0:
		return &Error{r.From, "it is not the report of a shard (--shard i/n)"}
	case r.Shard < 1 || r.Shard > r.Shards || r.Shards > most:
		return &Error{r.From, fmt.Sprintf("shard %d of %d cannot be", r.Shard, r.Shards)}
	case r.Revision == "" || r.CasesSHA256 == "":
		return &Error{r.From, "it does not tell its revision and its list of cases"}
	case r.Cases < 0 || r.Done < 0 || r.Done > r.Cases:
		return &Error{r.From, fmt.Sprintf("%d of %d cases cannot be", r.Done, r.Cases)}
	}
	seen := map[int]bool{}
	for i := range r.Results {
		if r.Results[i].Case < 1 {
			return &Error{r.From, fmt.Sprintf("result %d belongs to no case", i)}
		}
		seen[r.Results[i].Case] = true
	}
	if len(seen) != r.Done {
		return &Error{r.From, fmt.Sprintf("it says that %d cases were done and has results of %d", r.Done, len(seen))}
	}
	return nil
}

// Merge makes one report of those of all shards. Reports of another revision or
// list of cases, and two of one shard, are refused. A shard that is missing, or
// did not finish, is a void result: the others count all the same.
func Merge(all []*Report) (*snapshots.Report, error) {
	if len(all) == 0 {
		return nil, &Error{"merge", "no reports"}
	}
	all = slices.SortedStableFunc(slices.Values(all), func(a, b *Report) int { return cmp.Compare(a.Shard, b.Shard) })
	if err := belong(all); err != nil {
		return nil, err
	}
	first := all[0]
	m := &snapshots.Report{Format: first.Format, Started: first.Started, Version: first.Version, Revision: first.Revision, CasesSHA256: first.CasesSHA256}
	m.Command = fmt.Sprintf("%s (%d shards)", first.Command, first.Shards)
	var void []snapshots.Result
	next := 1
	for _, r := range all {
		for ; next < r.Shard; next++ {
			void = append(void, missing(next, r.Shards))
		}
		next++
		if r.Done < r.Cases {
			void = append(void, unfinished(r))
		}
		if r.Started.Before(m.Started) {
			m.Started = r.Started
		}
		m.Seconds += r.Seconds
		m.Cases += r.Cases
		m.Done += r.Done
		m.Bench = cmp.Or(m.Bench, r.Bench)
		m.Results = append(m.Results, r.Results...)
	}
	for ; next <= first.Shards; next++ {
		void = append(void, missing(next, first.Shards))
	}
	m.Machine = machines(all)
	slices.SortStableFunc(m.Results, func(a, b snapshots.Result) int { return cmp.Compare(a.Case, b.Case) })
	m.Results = append(m.Results, void...)
	return m, nil
}

// belong tells whether reports, in the order of their shards, are of one run. That
// the cases of two shards do not overlap follows from their list being the same,
// and is checked all the same.
func belong(all []*Report) error {
	first := all[0]
	owner := map[int]*Report{}
	for i, r := range all {
		for _, x := range []struct{ what, got, want string }{
			{"number of shards", fmt.Sprint(r.Shards), fmt.Sprint(first.Shards)},
			{"revision", r.Revision, first.Revision},
			{"list of cases (SHA-256)", r.CasesSHA256, first.CasesSHA256},
		} {
			if x.got != x.want {
				return &Error{r.From, fmt.Sprintf("another %s: %s, that of %s is %s", x.what, x.got, first.From, x.want)}
			}
		}
		if i > 0 && all[i-1].Shard == r.Shard {
			return &Error{r.From, fmt.Sprintf("shard %d/%d twice: also in %s", r.Shard, r.Shards, all[i-1].From)}
		}
		for k := range r.Results {
			n := r.Results[k].Case
			if o := owner[n]; o != nil && o != r {
				return &Error{r.From, fmt.Sprintf("case %d twice: also in %s", n, o.From)}
			}
			owner[n] = r
		}
	}
	return nil
}

func missing(i, of int) snapshots.Result {
	return snapshots.Result{Gate: Gate, Check: fmt.Sprintf("%d/%d", i, of), Value: "no report", Verdict: snapshots.Void, Detail: "the report of this shard is missing: it was not given, or its job did not get as far as writing it"}
}

func unfinished(r *Report) snapshots.Result {
	return snapshots.Result{Gate: Gate, Check: fmt.Sprintf("%d/%d", r.Shard, r.Shards), Value: fmt.Sprintf("%d of %d cases", r.Done, r.Cases), Verdict: snapshots.Void, Detail: "the job of this shard was interrupted"}
}

// machines is the one machine of all reports, or how many kinds there were.
func machines(all []*Report) snapshots.Machine {
	var kinds []string
	m := all[0].Machine
	levels := map[string]bool{}
	for _, r := range all {
		if k := r.Machine.String(); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
		levels[r.Machine.Level] = true
	}
	if len(kinds) > 1 {
		slices.Sort(kinds)
		m.CPU = fmt.Sprintf("%d kinds of machines (%s)", len(kinds), strings.Join(kinds, "; "))
		if len(levels) > 1 {
			m.Level = "several levels"
		}
	}
	return m
}
