package tokenizer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint"
)

func TestCheckpointsOfBothKindsGiveTheirTokenizer(t *testing.T) {
	for _, c := range []struct {
		path string
		ids  []int32
	}{
		{shared(t, "decoders", "llama"), []int32{504, 504}},
		{realModel(t, smollm2), []int32{44, 108, 306, 79, 486, 108, 46}},
	} {
		model, err := checkpoint.Open(c.path)
		require.NoError(t, err)
		tok, err := FromCheckpoint(model)
		require.NoError(t, err)
		require.NoError(t, model.Close())
		text := "<|im_end|>"
		if model.Kind() == checkpoint.HuggingFace {
			text = "<|begin_of_text|>"
		}
		ids, err := tok.Encode(text, EncodeOptions{AddSpecial: true, ParseSpecial: model.Kind() == checkpoint.HuggingFace})
		require.NoError(t, err)
		assert.Equal(t, c.ids, ids)
		_, ok := tok.ChatTemplate()
		assert.True(t, ok)
	}
}

func BenchmarkEncode(b *testing.B) {
	tok := tiny(b, "llama")
	text := "It was raining. There Mara found a blue lamp and showed it to Lena. \"Is this yours?\" asked Lena.\n"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tok.Encode(text, EncodeOptions{AddSpecial: true}); err != nil {
			b.Fatal(err)
		}
	}
}
