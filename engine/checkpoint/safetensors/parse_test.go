package safetensors_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/engine/checkpoint/fault"
	"assay/engine/checkpoint/internal/craft"
	. "assay/engine/checkpoint/safetensors"
	"assay/kernels/quant"
)

func entries() []craft.Entry {
	return []craft.Entry{
		{Name: "lead", DType: "U8", Shape: []int{3}, Data: []byte{1, 2, 3}},
		{Name: "w", DType: "F32", Shape: []int{2, 4}, Data: craft.Floats(8, 1)},
		{Name: "none", DType: "BF16", Shape: []int{0, 5}},
		{Name: "scalar", DType: "F32", Data: craft.Floats(1, 9)},
		{Name: "scale", DType: "F8_E8M0", Shape: []int{2}, Data: []byte{7, 8}},
		{Name: "half bytes", DType: "F4", Shape: []int{2, 3}, Data: []byte{1, 2, 3}},
	}
}

func TestTensorsGiveTheStoredBytes(t *testing.T) {
	f, err := Parse(craft.Safetensors(entries()...), "t.safetensors")
	require.NoError(t, err)
	require.Len(t, f.Tensors, 6)
	for i, e := range entries() {
		got := f.Tensors[i]
		assert.Equal(t, e.Name, got.Name)
		assert.Equal(t, e.DType, got.DType)
		assert.Equal(t, append([]int{}, e.Shape...), got.Shape)
		assert.Equal(t, string(e.Data), string(got.Data))
	}
	w, ok := f.Tensor("w")
	require.True(t, ok)
	assert.Equal(t, quant.F32, w.Type)
	scale, _ := f.Tensor("scale")
	assert.Equal(t, quant.Invalid, scale.Type, "listed, though the engine has no such number")
}

func TestEveryPrefixIsRefused(t *testing.T) {
	whole := craft.Safetensors(entries()...)
	for n := range whole {
		_, err := Parse(whole[:n], "cut")
		var f *fault.Error
		require.True(t, errors.As(err, &f), "%d bytes: %v", n, err)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	one := func(entry string) []byte { return craft.Header(`{"a":`+entry+`}`, craft.Floats(4, 0)) }
	for name, c := range map[string]struct {
		data []byte
		says []string
	}{
		"no object":        {one(`5`), []string{`tensor "a"`, "a number", "object"}},
		"dtype number":     {one(`{"dtype":5,"shape":[4],"data_offsets":[0,16]}`), []string{`tensor "a"`, "dtype", "a number"}},
		"shape text":       {one(`{"dtype":"F32","shape":"4","data_offsets":[0,16]}`), []string{`tensor "a"`, "shape", "a string"}},
		"shape of text":    {one(`{"dtype":"F32","shape":["4"],"data_offsets":[0,16]}`), []string{`tensor "a"`, "shape", "a string"}},
		"shape nested":     {one(`{"dtype":"F32","shape":[[4]],"data_offsets":[0,16]}`), []string{`tensor "a"`, "shape", "an array"}},
		"offsets null":     {one(`{"dtype":"F32","shape":[4],"data_offsets":null}`), []string{`tensor "a"`, "data_offsets", "null"}},
		"exponent":         {one(`{"dtype":"F32","shape":[4],"data_offsets":[0,1.6e1]}`), []string{`tensor "a"`, "no integer"}},
		"half a byte":      {craft.Header(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}`, []byte{1}), []string{`tensor "a"`, "whole number of bytes"}},
		"field twice":      {one(`{"dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16]}`), []string{`tensor "a"`, "duplicate", "dtype"}},
		"metadata twice":   {craft.Header(`{"__metadata__":{},"__metadata__":{}}`, nil), []string{"__metadata__", "duplicate"}},
		"metadata key":     {craft.Header(`{"__metadata__":{"k":"1","k":"2"}}`, nil), []string{"__metadata__", "duplicate", `"k"`}},
		"metadata null":    {craft.Header(`{"__metadata__":null}`, nil), []string{"__metadata__", "null"}},
		"trailing garbage": {craft.Header(`{} x`, nil), []string{"header", "JSON"}},
		"nothing but data": {craft.Header(``, craft.Floats(1, 0)), []string{"header", "empty"}},
		"long number":      {one(`{"dtype":"F32","shape":[` + strings.Repeat("9", 5000) + `],"data_offsets":[0,16]}`), []string{`tensor "a"`, "out of range"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.data, "bad")
			var f *fault.Error
			require.True(t, errors.As(err, &f), "%v", err)
			assert.Equal(t, "safetensors", f.Format)
			assert.Less(t, len(err.Error()), 400)
			for _, s := range c.says {
				assert.Contains(t, err.Error(), s)
			}
		})
	}
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestIndexGathersItsShards(t *testing.T) {
	dir := t.TempDir()
	e := entries()
	write(t, dir, "1.safetensors", craft.Safetensors(e[0], e[1]))
	write(t, dir, "2.safetensors", craft.Safetensors(e[1], e[3]))
	index := write(t, dir, "i.index.json", []byte(`{"metadata":{"total_size":1},"weight_map":{"w":"2.safetensors","lead":"1.safetensors","scalar":"2.safetensors"}}`))
	s, err := OpenIndex(index)
	require.NoError(t, err)
	require.Len(t, s.Tensors, 3)
	w, ok := s.Tensor("w")
	require.True(t, ok)
	assert.Equal(t, filepath.Join(dir, "2.safetensors"), w.File, "the map decides between two of a name")
	assert.Equal(t, craft.Floats(8, 1), w.Data)
	require.NoError(t, s.Files[0].Release(w.Data[:0]))
	require.NoError(t, s.Close())
}

func TestIndexFaultsAreNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "1.safetensors", craft.Safetensors(entries()...))
	write(t, filepath.Dir(dir), "outside.safetensors", craft.Safetensors(entries()...))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	write(t, filepath.Join(dir, "sub"), "1.safetensors", craft.Safetensors(entries()...))
	for name, c := range map[string]struct{ index, says string }{
		"no json":      {`{`, "JSON"},
		"a list":       {`[]`, "object"},
		"no map":       {`{"metadata":{}}`, "weight_map is missing"},
		"two maps":     {`{"weight_map":{},"weight_map":{}}`, "duplicate weight_map"},
		"tensor twice": {`{"weight_map":{"w":"1.safetensors","w":"1.safetensors"}}`, `duplicate tensor "w"`},
		"number":       {`{"weight_map":{"w":1}}`, "a number"},
		"outside":      {`{"weight_map":{"w":"../outside.safetensors"}}`, "outside"},
		"below":        {`{"weight_map":{"w":"sub/1.safetensors"}}`, "outside"},
		"absolute":     {`{"weight_map":{"w":"/etc/passwd"}}`, "outside"},
		"backslash":    {`{"weight_map":{"w":"..\\outside.safetensors"}}`, "outside"},
		"dots":         {`{"weight_map":{"w":".."}}`, "outside"},
		"empty":        {`{"weight_map":{"w":""}}`, "outside"},
		"no file":      {`{"weight_map":{"w":"2.safetensors"}}`, "2.safetensors"},
		"not there":    {`{"weight_map":{"zz":"1.safetensors"}}`, `tensor "zz": is missing`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenIndex(write(t, dir, "x.index.json", []byte(c.index)))
			var f *fault.Error
			require.True(t, errors.As(err, &f), "%v", err)
			assert.Contains(t, err.Error(), c.says)
		})
	}
}
