package parity

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/engine"
	"assay/oracle"
)

func TestPromptsThatTheModelCannotTakeAreRefusedBeforeAnythingIsFed(t *testing.T) {
	m, err := engine.Open(context.Background(), "../../fixtures/models/llama-Q4_0.gguf", engine.Options{Threads: 1})
	require.NoError(t, err)
	defer m.Close()
	for _, c := range []struct {
		prompt oracle.Prompt
		tokens int
		says   string
	}{
		{oracle.Prompt{Name: "a", IDs: []int32{1}}, math.MaxInt, "512 positions"},
		{oracle.Prompt{Name: "a", IDs: []int32{1}}, 512, "512 positions"},
		{oracle.Prompt{Name: "a", IDs: slices.Repeat([]int32{1}, 513)}, 1, "512 positions"},
		{oracle.Prompt{Name: "a", IDs: []int32{512}}, 1, "outside the vocabulary"},
		{oracle.Prompt{Name: "a", IDs: []int32{1}, Produced: []int32{9999}}, 1, "outside the vocabulary"},
	} {
		_, err := Record(context.Background(), m, []oracle.Prompt{{Name: "good", IDs: []int32{1}}, c.prompt}, RecordOptions{
			Tokens: c.tokens, Progress: func(int, int) { t.Error("something was fed") },
		})
		require.ErrorContains(t, err, c.says)
	}
}
