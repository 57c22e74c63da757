package oracle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIDsThatAreNoIntegersAreRefused(t *testing.T) {
	for _, text := range []string{"- {name: a, ids: [1, 1.5]}", "- {name: a, ids: [1], produced: [2.0]}", "- {name: a, ids: [true]}", "- {name: a, ids: ['1']}"} {
		_, err := ParsePrompts("p.yaml", []byte(text))
		require.ErrorContains(t, err, "is no integer", text)
	}
	p, err := ParsePrompts("p.yaml", []byte("- {name: a, ids: [0x10, 1_0, 7], produced: [3]}"))
	require.NoError(t, err)
	assert.Equal(t, []int32{16, 10, 7}, p[0].IDs)
}
