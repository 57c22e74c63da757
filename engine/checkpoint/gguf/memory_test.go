package gguf_test

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "assay/engine/checkpoint/gguf"
	"assay/engine/checkpoint/internal/craft"
)

// allocated gives the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestLongListsAreNotCopiedByParsing(t *testing.T) {
	data := craft.GGUF(3, 32, []craft.KV{
		{Key: "bytes", Value: craft.Array(0, make([]uint8, 1<<20)...)},
		{Key: "texts", Value: craft.Array(8, make([]string, 1<<17)...)},
	}, nil)
	var err error
	assert.Less(t, allocated(func() { _, err = Parse(data, "t") }), uint64(64<<10))
	require.NoError(t, err)
}

func TestClaimedCountsAllocateNothing(t *testing.T) {
	// A large file of zeros whose counts its size allows: the first key is empty.
	data := make([]byte, 8<<20)
	copy(data, "GGUF\x03")
	binary.LittleEndian.PutUint64(data[8:], 300_000)
	binary.LittleEndian.PutUint64(data[16:], 600_000)
	var err error
	assert.Less(t, allocated(func() { _, err = Parse(data, "t") }), uint64(256<<10))
	require.ErrorContains(t, err, "key is empty")

	binary.LittleEndian.PutUint64(data[16:], 0)
	assert.Less(t, allocated(func() { _, err = Parse(data, "t") }), uint64(1<<20))
	require.ErrorContains(t, err, "duplicate name", "the second tensor without a name")
}
