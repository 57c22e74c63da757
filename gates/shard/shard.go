package shard

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// most is the largest number of shards that makes sense to anybody.
const most = 10000

// Shard is one part of a run. The zero value is the whole.
type Shard struct {
	Index int // from 1
	Of    int
}

// SyntaxError is a shard that cannot be.
type SyntaxError struct{ Text string }

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("shard %q: want i/n with 1 ≤ i ≤ n ≤ %d, e.g. 2/4", e.Text, most)
}

// Parse reads "i/n", i from 1; the empty text is the whole.
func Parse(text string) (Shard, error) {
	if text == "" {
		return Shard{}, nil
	}
	a, b, found := strings.Cut(text, "/")
	i, err := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if !found || err != nil || err2 != nil || i < 1 || n > most || i > n {
		return Shard{}, &SyntaxError{text}
	}
	return Shard{i, n}, nil
}

// Whole tells that nothing is split.
func (s Shard) Whole() bool { return s.Of == 0 }

// String is what Parse reads.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Case is what splitting needs to know of a case.
type Case struct {
	Name string
	Kind string // cases of one kind take about as long
}

// Split gives the places of the cases that belong to the shard, ascending. Cases
// are dealt like cards, kind by kind and within a kind by the hash of their names:
// shards differ by one case at most, each has its part of every kind, and who gets
// a case depends on nothing but the names.
func (s Shard) Split(all []Case) []int {
	places := make([]int, len(all))
	keys := make([][sha256.Size]byte, len(all))
	for i := range all {
		places[i], keys[i] = i, sha256.Sum256([]byte(all[i].Name))
	}
	if s.Whole() {
		return places
	}
	slices.SortStableFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[a].Kind, all[b].Kind), slices.Compare(keys[a][:], keys[b][:]))
	})
	var mine []int
	for i := s.Index - 1; i < len(places); i += s.Of {
		mine = append(mine, places[i])
	}
	slices.Sort(mine)
	return mine
}

// Sum is the SHA-256 of the names of all cases in their order: shards with another
// sum split another run.
func Sum(all []Case) string {
	h := sha256.New()
	for i := range all {
		fmt.Fprintf(h, "%q %q\n", all[i].Kind, all[i].Name)
	}
	return hex.EncodeToString(h.Sum(nil))
}
