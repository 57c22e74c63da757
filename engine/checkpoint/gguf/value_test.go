package gguf_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "assay/engine/checkpoint/gguf"
	"assay/engine/checkpoint/internal/craft"
)

func value(t *testing.T, v any) Value {
	t.Helper()
	f, err := Parse(craft.GGUF(3, 32, kv("v", v), nil), "t.gguf")
	require.NoError(t, err)
	got, ok := f.Value("v")
	require.True(t, ok)
	return got
}

func TestIntegersOfAnyWidthAreTaken(t *testing.T) {
	for _, v := range []any{uint8(42), int8(42), uint16(42), int16(42), uint32(42), int32(42), uint64(42), int64(42)} {
		n, err := value(t, v).Int()
		require.NoError(t, err, "%T", v)
		assert.EqualValues(t, 42, n)
		u, err := value(t, v).Uint()
		require.NoError(t, err)
		assert.EqualValues(t, 42, u)
		x, err := value(t, v).Float()
		require.NoError(t, err)
		assert.EqualValues(t, 42, x)
	}
}

func TestNegativeIntegersKeepTheirSign(t *testing.T) {
	for _, v := range []any{int8(-3), int16(-3), int32(-3), int64(-3)} {
		n, err := value(t, v).Int()
		require.NoError(t, err)
		assert.EqualValues(t, -3, n)
		_, err = value(t, v).Uint()
		require.ErrorContains(t, err, "negative (-3)")
	}
}

func TestFloatsOfBothWidthsAreTaken(t *testing.T) {
	x, err := value(t, float32(0.5)).Float()
	require.NoError(t, err)
	assert.Equal(t, 0.5, x)
	x, err = value(t, 1e-5).Float()
	require.NoError(t, err)
	assert.Equal(t, 1e-5, x)
}

func TestValuesThatDoNotFitAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		get   func(Value) error
		says  string
	}{
		"u64 as int":      {uint64(math.MaxUint64), func(v Value) error { _, err := v.Int(); return err }, "out of range"},
		"u64 as float":    {uint64(1<<53 + 1), func(v Value) error { _, err := v.Float(); return err }, "out of range"},
		"float as int":    {float32(2), func(v Value) error { _, err := v.Int(); return err }, "type f32"},
		"string as int":   {"2", func(v Value) error { _, err := v.Int(); return err }, "type string"},
		"string as float": {"2", func(v Value) error { _, err := v.Float(); return err }, "type string"},
		"bool as float":   {true, func(v Value) error { _, err := v.Float(); return err }, "type bool"},
		"int as bool":     {uint8(1), func(v Value) error { _, err := v.Bool(); return err }, "type u8"},
		"int as text":     {uint8(1), func(v Value) error { _, err := v.Text(); return err }, "type u8"},
		"list as strings": {craft.Array[uint8](0, 1), func(v Value) error { _, err := v.Strings(); return err }, "array of u8"},
		"text as list":    {"x", func(v Value) error { _, err := v.Ints(); return err }, "type string"},
		"strings as ints": {craft.Array(8, "x"), func(v Value) error { _, err := v.Ints(); return err }, "element 0 has type string"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, c.get(value(t, c.value)), c.says)
		})
	}
}

func TestListsAreDecoded(t *testing.T) {
	ints, err := value(t, craft.Array[int16](3, -1, 5)).Ints()
	require.NoError(t, err)
	assert.Equal(t, []int64{-1, 5}, ints)
	floats, err := value(t, craft.Array[float32](6, 0.5, -2)).Floats()
	require.NoError(t, err)
	assert.Equal(t, []float64{0.5, -2}, floats)
	texts, err := value(t, craft.Array(8, "é", "\xff")).Strings()
	require.NoError(t, err)
	assert.Equal(t, []string{"é", "\xff"}, texts)
	b, err := value(t, true).Bool()
	require.NoError(t, err)
	assert.True(t, b)
	assert.Equal(t, "array of string", value(t, craft.Array(8, "x")).TypeName())
	assert.Equal(t, "type(99)", ValueType(99).String())
}
