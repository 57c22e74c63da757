package cpu

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEverySupportedLevelCanBeForcedByName(t *testing.T) {
	for _, l := range Supported() {
		got, err := Parse(l.String())
		require.NoError(t, err)
		assert.Equal(t, l, got)
	}
	assert.Equal(t, Scalar, Supported()[0], "there is always a generic path")
	best, err := Parse("")
	require.NoError(t, err)
	assert.Equal(t, Detected(), best)
}

func TestAnUnknownLevelIsRefusedWithTheChoices(t *testing.T) {
	var e *UnknownLevelError
	_, err := Parse("quantum")
	require.ErrorAs(t, err, &e)
	assert.Contains(t, err.Error(), "quantum")
	assert.Contains(t, err.Error(), "scalar")
}

// CI names the level that it means to test, so that a silent fall-back fails.
func TestTheLevelIsTheOneThatCIExpects(t *testing.T) {
	want := os.Getenv("ASSAY_EXPECT_LEVEL")
	if want == "" {
		t.Skip("ASSAY_EXPECT_LEVEL is not set")
	}
	got, err := Default()
	require.NoError(t, err)
	assert.Equal(t, want, got.String())
}
