package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hardPieces are strings at whose borders the patterns decide.
var hardPieces = []string{
	" ", "  ", "\t", "\n", "\r", "\r\n", "\n\n", "\u00a0", "\u3000", "\u2028", "\u0085", "\u180e", "\u200b", "\u200d",
	"a", "Zoë", "ß", "中", "я", "ا", "ह", "ि", "\u0301", "e\u0301", "ﬃ", "ǅ", "ª", "ʰ", "𝒳", "𠀀",
	"0", "12", "1234", "٣", "Ⅷ", "½", "①", "𝟘", "〇",
	"'", "'s", "'S", "'t", "'re", "'RE", "'rE", "'ve", "'m", "'ll", "'Ll", "'l", "'r", "'d", "'x", "’s", "'ß",
	".", "...", "!?", "_", "-", "$", "+", "€", "«", "😀", "👍🏽", "<|x|>", "\\", "\"", "\u0000", "\ufffd", "\U0010ffff", "\ue000",
}

func hardText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(hardPieces[r.IntN(len(hardPieces))])
	}
	return b.String()
}

// asciiFold is the scanner without the folding of ſ, which the regular
// expression library does not do.
func asciiFold(s scanner) scanner {
	s.longS = false
	return s
}

func words(t testing.TB, s splitter, text string) []string {
	out, err := s.split(nil, text, true)
	require.NoError(t, err)
	return out
}

func reference(t testing.TB, source string) splitter {
	re, err := newRegexPattern(source)
	require.NoError(t, err)
	return patternSplit{pattern: re, behavior: isolated}
}

func TestScannersCutLikeTheirPatterns(t *testing.T) {
	for source, s := range knownPatterns {
		want := reference(t, source)
		r := rand.New(rand.NewPCG(1, 2))
		for range 20000 {
			text := hardText(r)
			require.Equal(t, words(t, want, text), words(t, scanSplit{asciiFold(s)}, text), "%q by %s", text, source)
		}
		for _, a := range hardPieces {
			for _, b := range hardPieces {
				text := a + b
				require.Equal(t, words(t, want, text), words(t, scanSplit{asciiFold(s)}, text), "%q by %s", text, source)
			}
		}
	}
}

func TestDigitScannerCutsEachNumber(t *testing.T) {
	want := reference(t, `\p{N}`)
	r := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		text := hardText(r)
		require.Equal(t, words(t, want, text), words(t, scanSplit{scanner{shape: shapeDigits}}, text), "%q", text)
	}
}

func TestLongSCountsAsContractionInTokenizerFilesOnly(t *testing.T) {
	assert.Equal(t, []string{"it", "'ſ", "ok"}, words(t, scanSplit{knownPatterns[patternLlama3]}, "it'ſok"))
	assert.Equal(t, []string{"it", "'ſok"}, words(t, scanSplit{ggufPres["llama3"].steps[0]}, "it'ſok"))
}

func FuzzScannersCutLikeTheirPatterns(f *testing.F) {
	for _, s := range []string{"it's 12345 o'clock\r\n\n  Zoë", "  \t\n x", "a1b2 '’s", "e\u0301 \u0301\u0301", "½①\u200d👍🏽"} {
		f.Add(s)
	}
	wants := map[string]splitter{}
	for source := range knownPatterns {
		wants[source] = reference(f, source)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = validText(text)
		for source, s := range knownPatterns {
			require.Equal(t, words(t, wants[source], text), words(t, scanSplit{asciiFold(s)}, text), "%q by %s", text, source)
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("Hello world, it's 2026! Größe 中文字 \n\n  def f(x): return x+1\n", 200)
	for name, s := range map[string]splitter{"scanner": scanSplit{knownPatterns[patternLlama3]}, "regex": reference(b, patternLlama3)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var dst []string
			for b.Loop() {
				dst, _ = s.split(dst[:0], text, true)
			}
		})
	}
}
