package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint/fault"
	. "assay/engine/checkpoint/gguf"
	"assay/engine/checkpoint/internal/craft"
	"assay/kernels/quant"
)

const (
	f32  = 0
	q4_0 = 2
)

func two() []craft.Tensor {
	return craft.Place(32, []craft.Tensor{
		{Name: "a", Type: f32, Dims: []uint64{4, 2}, Data: craft.Floats(8, 1)},
		{Name: "b", Type: q4_0, Dims: []uint64{64}, Data: bytes.Repeat([]byte{7}, 36)},
	})
}

func kv(key string, value any) []craft.KV { return []craft.KV{{Key: key, Value: value}} }

func TestBothVersionsGiveTheStoredBytes(t *testing.T) {
	for _, version := range []uint32{2, 3} {
		f, err := Parse(craft.GGUF(version, 32, kv("general.name", "x"), two()), "t.gguf")
		require.NoError(t, err)
		assert.Equal(t, version, f.Version)
		assert.EqualValues(t, 32, f.Alignment)
		a, ok := f.Tensor("a")
		require.True(t, ok)
		assert.Equal(t, craft.Floats(8, 1), a.Data)
		assert.Equal(t, []int{2, 4}, a.Shape())
		assert.Equal(t, quant.F32, a.Format.Type)
		b, _ := f.Tensor("b")
		assert.Equal(t, bytes.Repeat([]byte{7}, 36), b.Data)
		_, ok = f.Tensor("c")
		assert.False(t, ok)
	}
}

func TestAlignmentMovesTheData(t *testing.T) {
	for _, align := range []int{8, 16, 24, 64, 4096} {
		ts := craft.Place(align, two())
		f, err := Parse(craft.GGUF(3, align, kv("general.alignment", uint32(align)), ts), "t.gguf")
		require.NoError(t, err, align)
		a, _ := f.Tensor("a")
		assert.Equal(t, craft.Floats(8, 1), a.Data)
		assert.Zero(t, f.DataStart%int64(align))
	}
}

func TestEveryPrefixIsRefused(t *testing.T) {
	kvs := append(kv("general.name", "x"), craft.KV{Key: "list", Value: craft.Array(8, "ab", "", "c")},
		craft.KV{Key: "flag", Value: true})
	whole := craft.GGUF(3, 32, kvs, two())
	for n := range whole {
		_, err := Parse(whole[:n], "cut.gguf")
		var f *fault.Error
		require.True(t, errors.As(err, &f), "%d bytes: %v", n, err)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	nested := func(depth int) craft.Raw {
		var b []byte
		for range depth - 1 {
			b = binary.LittleEndian.AppendUint32(b, 9)
			b = binary.LittleEndian.AppendUint64(b, 1)
		}
		b = binary.LittleEndian.AppendUint32(b, 0)
		return craft.Raw{Type: 9, Bytes: binary.LittleEndian.AppendUint64(b, 0)}
	}
	change := func(edit func(t *craft.Tensor)) []byte {
		ts := two()
		edit(&ts[1])
		return craft.GGUF(3, 32, nil, ts)
	}
	for name, c := range map[string]struct {
		data []byte
		says []string
	}{
		"alignment 12":     {craft.GGUF(3, 32, kv("general.alignment", uint32(12)), two()), []string{"general.alignment", "multiple of 8"}},
		"alignment -8":     {craft.GGUF(3, 32, kv("general.alignment", int64(-8)), two()), []string{"general.alignment", "negative"}},
		"alignment 2^40":   {craft.GGUF(3, 32, kv("general.alignment", uint64(1)<<40), two()), []string{"general.alignment"}},
		"nested too deep":  {craft.GGUF(3, 32, kv("n", nested(9)), nil), []string{`key 0 "n"`, "nested deeper"}},
		"bool in array":    {craft.GGUF(3, 32, kv("n", craft.Array[byte](7, 1, 0, 200)), nil), []string{`"n"`, "bool is 200"}},
		"huge string list": {craft.GGUF(3, 32, kv("n", craft.Raw{Type: 9, Bytes: []byte{8, 0, 0, 0, 255, 255, 255, 0, 0, 0, 0, 0}}), nil), []string{`"n"`, "beyond the end"}},
		"long key":         {craft.GGUF(3, 32, kv(strings.Repeat("k", 1<<16), "x"), nil), []string{"key 0", "65536 bytes"}},
		"no type":          {change(func(t *craft.Tensor) { t.Type = 77 }), []string{`tensor 1 "b"`, "unknown type 77"}},
		"half a block":     {change(func(t *craft.Tensor) { t.Dims = []uint64{16, 4} }), []string{`tensor 1 "b"`, "multiple", "Q4_0", "32"}},
		"five dims":        {change(func(t *craft.Tensor) { t.Dims = []uint64{32, 1, 1, 1, 1} }), []string{`tensor 1 "b"`, "5 dims"}},
		"product":          {change(func(t *craft.Tensor) { t.Dims = []uint64{1 << 62, 8} }), []string{`tensor 1 "b"`, "overflow"}},
		"beyond":           {change(func(t *craft.Tensor) { t.Dims = []uint64{96} }), []string{`tensor 1 "b"`, "beyond the end"}},
		"unaligned":        {change(func(t *craft.Tensor) { t.Offset = 33 }), []string{`tensor 1 "b"`, "not aligned to 32"}},
		"overlap":          {change(func(t *craft.Tensor) { t.Offset = 0 }), []string{`tensor 1 "b"`, "overlap", `"a"`}},
		"inside another":   {craft.GGUF(3, 8, kv("general.alignment", uint32(8)), []craft.Tensor{{Name: "a", Dims: []uint64{8}, Data: craft.Floats(8, 0)}, {Name: "b", Dims: []uint64{1}, Offset: 16, Data: craft.Floats(1, 0)}}), []string{`tensor 1 "b"`, "overlap"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.data, "bad.gguf")
			var f *fault.Error
			require.True(t, errors.As(err, &f), "%v", err)
			assert.Equal(t, "gguf", f.Format)
			assert.Equal(t, "bad.gguf", f.File)
			for _, s := range c.says {
				assert.Contains(t, err.Error(), s)
			}
		})
	}
}

func TestNestedArraysAreReadToTheLimit(t *testing.T) {
	inner := craft.Array[uint16](2, 7, 8)
	outer := binary.LittleEndian.AppendUint32(nil, 9)
	outer = binary.LittleEndian.AppendUint64(outer, 2)
	outer = append(append(outer, inner.Bytes...), craft.Array(8, "x", "").Bytes...)
	f, err := Parse(craft.GGUF(3, 32, kv("n", craft.Raw{Type: 9, Bytes: outer}), nil), "t.gguf")
	require.NoError(t, err)
	v, _ := f.Value("n")
	assert.Equal(t, []any{[]any{uint64(7), uint64(8)}, []any{"x", ""}}, v.Any())
}

func TestEmptyAndScalarTensorsAreLegal(t *testing.T) {
	f, err := Parse(craft.GGUF(3, 32, nil, craft.Place(32, []craft.Tensor{
		{Name: "none", Dims: []uint64{0, 3}}, {Name: "one", Data: craft.Floats(1, 5)}})), "t.gguf")
	require.NoError(t, err)
	none, _ := f.Tensor("none")
	assert.Empty(t, none.Data)
	one, _ := f.Tensor("one")
	assert.Equal(t, craft.Floats(1, 5), one.Data)
	assert.Empty(t, one.Shape())
}

func TestMetadataOutlivesTheMapping(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.gguf")
	require.NoError(t, os.WriteFile(path, craft.GGUF(3, 32, kv("list", craft.Array(8, "ab", "c")), two()), 0o600))
	f, err := Open(path)
	require.NoError(t, err)
	a, _ := f.Tensor("a")
	require.NoError(t, f.Release(a.Data))
	assert.Equal(t, craft.Floats(8, 1), a.Data, "released data stay readable")
	v, _ := f.Value("list")
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	s, err := v.Strings()
	require.NoError(t, err)
	assert.Equal(t, []string{"ab", "c"}, s)
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	require.ErrorContains(t, err, "not a regular file")
	_, err = Open(filepath.Join(dir, "none.gguf"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
