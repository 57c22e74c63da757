package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// slowSplit looks at every place for every token.
func slowSplit(tokens []addedToken, text string) []segment {
	var out []segment
	done := 0
	for i := 0; i < len(text); {
		best := -1
		for n, t := range tokens {
			if strings.HasPrefix(text[i:], t.content) && (best < 0 || len(t.content) > len(tokens[best].content)) {
				best = n
			}
		}
		if best < 0 {
			i++
			continue
		}
		out = appendText(out, done, i)
		done = i + len(tokens[best].content)
		out = append(out, segment{i, done, tokens[best].id})
		i = done
	}
	return appendText(out, done, len(text))
}

func randomWord(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func TestAddedTokensAreTheLeftmostAndLongest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		var tokens []addedToken
		seen := map[string]bool{}
		for range 1 + r.IntN(6) {
			word := randomWord(r, "ab<", 1+r.IntN(5))
			if !seen[word] {
				seen[word] = true
				tokens = append(tokens, addedToken{id: int32(len(tokens)), content: word})
			}
		}
		text := randomWord(r, "ab<c", r.IntN(30))
		require.Equal(t, slowSplit(tokens, text), matching(t, tokens).split(nil, text, true), "%v in %q", tokens, text)
	}
}

func TestSpecialTokensStayTextUnlessAskedFor(t *testing.T) {
	m := matching(t, []addedToken{{id: 1, content: "<s>", special: true}, {id: 2, content: "<tool>"}})
	assert.Equal(t, []segment{{0, 3, -1}, {3, 9, 2}}, m.split(nil, "<s><tool>", false))
	assert.Equal(t, []segment{{0, 3, 1}, {3, 9, 2}}, m.split(nil, "<s><tool>", true))
}

func TestAddedTokensTakeSpacesAlongAndRespectWords(t *testing.T) {
	m := matching(t, []addedToken{{id: 1, content: "<l>", lstrip: true}, {id: 2, content: "<r>", rstrip: true}, {id: 3, content: "cat", singleWord: true}})
	assert.Equal(t, []segment{{0, 1, -1}, {1, 6, 1}, {6, 7, -1}}, m.split(nil, "a \t<l>b", true))
	assert.Equal(t, []segment{{0, 1, -1}, {1, 7, 2}, {7, 8, -1}}, m.split(nil, "a<r> \n b", true))
	assert.Equal(t, []segment{{0, 5, 2}, {5, 8, 1}}, m.split(nil, "<r>  <l>", true), "spaces are taken once")
	assert.Equal(t, []segment{{0, 15, -1}, {15, 18, 3}, {18, 19, -1}}, m.split(nil, "scat cats cat_ cat.", true))
}

func TestManyOverlappingTokensCostOnePass(t *testing.T) {
	var tokens []addedToken
	for n := 1; n <= 1000; n++ {
		tokens = append(tokens, addedToken{id: int32(n), content: strings.Repeat("a", n) + "b"})
	}
	text := strings.Repeat("a", 1<<20)
	assert.Equal(t, []segment{{0, len(text), -1}}, matching(t, tokens).split(nil, text, true))
}

func matching(t *testing.T, tokens []addedToken) *matcher {
	t.Helper()
	m, err := newMatcher(tokens)
	require.NoError(t, err)
	return m
}

func TestAddedTokensOfManyMegabytesAreRefused(t *testing.T) {
	_, err := newMatcher([]addedToken{{content: strings.Repeat("a", maxAdded/2)}, {content: strings.Repeat("b", maxAdded/2+1)}})
	require.ErrorContains(t, err, "together")
	long := strings.Repeat("a", maxAdded/8)
	m := matching(t, []addedToken{{id: 7, content: long}})
	assert.Equal(t, []segment{{0, 1, -1}, {1, 1 + len(long), 7}}, m.split(nil, "b"+long, true))
}
