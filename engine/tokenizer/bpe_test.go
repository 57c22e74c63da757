package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// smallBPE makes a model from characters and merges, in that order of rank.
func smallBPE(t testing.TB, chars string, merges ...string) *bpe {
	tokens := strings.Split(chars, "")
	for _, m := range merges {
		text := strings.ReplaceAll(m, " ", "")
		if !slices.Contains(tokens, text) {
			tokens = append(tokens, text)
		}
	}
	b := newBPE(newVocabulary(tokens), len(merges))
	var scratch []byte
	for i, m := range merges {
		left, right, _ := strings.Cut(m, " ")
		require.NoError(t, b.addMerge(i, left, right, &scratch))
	}
	return b
}

// slowMerge looks for the best pair in the whole word each time.
func slowMerge(b *bpe, word string) []int32 {
	var ids []int32
	for _, c := range word {
		ids = append(ids, b.vocabulary.index[string(c)])
	}
	for {
		at, best := -1, merge{}
		for i := 0; i+1 < len(ids); i++ {
			if m, ok := b.merges[pair(ids[i], ids[i+1])]; ok && (at < 0 || m.rank < best.rank) {
				at, best = i, m
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = best.id
		ids = slices.Delete(ids, at+1, at+2)
	}
}

func TestMergesFollowRankThenPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		known := []string{"a", "b", "c"}
		seen := map[string]bool{}
		var merges []string
		for range 1 + r.IntN(12) {
			left, right := known[r.IntN(len(known))], known[r.IntN(len(known))]
			if m := left + " " + right; !seen[m] && len(m) < 12 {
				seen[m] = true
				merges = append(merges, m)
				known = append(known, left+right)
			}
		}
		b := smallBPE(t, "abc", merges...)
		for range 20 {
			word := randomWord(r, "abc", 1+r.IntN(25))
			got, err := b.encode(nil, word)
			require.NoError(t, err)
			require.Equal(t, slowMerge(b, word), got, "%q with %q", word, merges)
		}
	}
}

func TestOneMegabyteWordIsMergedInOrderNLogN(t *testing.T) {
	b := smallBPE(t, "xy", "x x", "xx xx", "xxxx xxxx", "x y")
	ids, err := b.encode(nil, strings.Repeat("x", 1<<20))
	require.NoError(t, err)
	assert.Len(t, ids, 1<<17)
}

func TestUnknownTokenThatIsMissingIsNamedWhenNeeded(t *testing.T) {
	b := smallBPE(t, "ab")
	b.unknown, b.hasUnknown = "<missing>", true
	ids, err := b.encode(nil, "ab")
	require.NoError(t, err)
	assert.Equal(t, []int32{0, 1}, ids)
	_, err = b.encode(nil, "az")
	assert.ErrorContains(t, err, "<missing>")
}

func TestUnigramPrefersTheLargestSum(t *testing.T) {
	tok, err := parseTokenizerJSON([]byte(`{"pre_tokenizer":null,"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["ab",-5],["b",-1],["abab",-3.5]]}}`))
	require.NoError(t, err)
	for text, want := range map[string][]int32{"ab": {1, 3}, "abab": {4}, "azzb": {1, 0, 3}, "": nil} {
		ids, err := tok.Encode(text, EncodeOptions{})
		require.NoError(t, err)
		assert.Equal(t, want, ids, text)
	}
}
