package matmul

import (
	"unsafe"

	"assay/kernels/cpu"
	"assay/kernels/quant"
	"assay/kernels/race"
)

// Tile multiplies consecutive tiles of weights with one panel.
//
//	w       first tile; tiles follow each other
//	tiles   how many
//	act     panel of C columns (C is fixed by the function)
//	blocks  blocks of the rounding (32 or 256 columns; 8 for float weights) in a row
//	out     out[c*ldo + row], row counted from the first tile's first row
type Tile func(w *byte, tiles int, act *byte, blocks int, out *float32, ldo int)

// Kernel is one implementation of the product for one format.
type Kernel struct {
	Name     string
	Variant  string // "" for the one that runs by itself; others are for experiments
	Format   quant.Type
	Level    cpu.Level
	Rounding Rounding
	TileRows int
	Columns  []Tile // Columns[c-1] handles panels of c columns
}

// Kernels lists every implementation in this build, whether or not the machine
// can run it.
func Kernels() []*Kernel { return kernels }

var kernels []*Kernel

func register(k *Kernel) { kernels = append(kernels, k) }

// Lookup returns the best implementation at or below a level, or nil when the
// format has none.
func Lookup(format quant.Type, level cpu.Level) *Kernel {
	var best *Kernel
	for _, k := range kernels {
		if k.Variant == "" && k.Format == format && k.Level <= level && (best == nil || k.Level > best.Level) {
			best = k
		}
	}
	return best
}

// LookupVariant returns the named variant at exactly the level that Lookup
// would choose, or nil.
func LookupVariant(format quant.Type, level cpu.Level, variant string) *Kernel {
	best := Lookup(format, level)
	for _, k := range kernels {
		if variant != "" && k.Variant == variant && k.Format == format && best != nil && k.Level == best.Level {
			return k
		}
	}
	return nil
}

// RoundingOf is how a format's activations are rounded in int8 mode.
func RoundingOf(format quant.Type) Rounding {
	switch {
	case !format.Quantised():
		return Float
	case format.BlockSize() == 256:
		return Int8x256
	}
	return Int8x32
}

// BlockCols is the number of columns that one block of the rounding covers.
func (r Rounding) BlockCols() int {
	switch r {
	case Int8x32:
		return 32
	case Int8x256:
		return 256
	}
	return 8
}

// Multiply runs the kernel on rows [0, rows) of consecutive tiles against one
// panel of c columns of the given length. len(w) must hold the tiles, out must
// reach (c-1)*ldo + rows rounded up to whole tiles.
func (k *Kernel) Multiply(w []byte, rows, cols int, act []byte, c int, out []float32, ldo int) {
	tiles := (rows + k.TileRows - 1) / k.TileRows
	if tiles == 0 {
		return
	}
	blocks := quant.PaddedCols(k.Format, cols) / k.Rounding.BlockCols()
	race.Read(w[:tiles*k.TileRows*quant.GroupBytes(k.Format, cols)/quant.TileRows])
	race.Read(act[:c*k.Rounding.ColumnBytes(cols)])
	_ = out[(c-1)*ldo+tiles*k.TileRows-1]
	k.Columns[c-1](unsafe.SliceData(w), tiles, unsafe.SliceData(act), blocks, unsafe.SliceData(out), ldo)
	for i := range c {
		race.Write(out[i*ldo:][:tiles*k.TileRows])
	}
}
