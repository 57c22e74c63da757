package vector

import (
	"encoding/binary"
	"math"

	"assay/kernels/arith"
	"assay/kernels/cpu"
)

var scalar = Set{
	Level:          cpu.Scalar,
	RMSNorm:        arith.RMSNorm,
	RotateHalves:   rotateHalves,
	RotateAdjacent: rotateAdjacent,
	SiLUMul: func(dst, gate, up []float32) {
		for i, g := range gate {
			dst[i] = arith.SiLUMul(g, up[i])
		}
	},
	GELUMul: func(dst, gate, up []float32) {
		for i, g := range gate {
			dst[i] = arith.GELUMul(g, up[i])
		}
	},
	Add: func(dst, x []float32) {
		for i, v := range x {
			dst[i] += v
		}
	},
	NarrowF16: func(dst []uint16, x []float32) {
		for i, v := range x {
			dst[i] = arith.ToF16(v)
		}
	},
	Quantise32:  quantise32,
	Quantise256: quantise256,
}

func rotateHalves(head, cos, sin []float32) {
	h := len(cos)
	for i := range cos {
		head[i], head[i+h] = arith.RotatePair(head[i], head[i+h], cos[i], sin[i])
	}
}

func rotateAdjacent(head, cos, sin []float32) {
	for i := 0; i < len(cos); i += 2 {
		head[i], head[i+1] = arith.RotatePair(head[i], head[i+1], cos[i], sin[i+1])
	}
}

// column writes the dwords of one panel column.
type column struct {
	b      []byte
	stride int
}

func (c *column) put(v uint32) {
	binary.LittleEndian.PutUint32(c.b, v)
	c.b = c.b[min(c.stride, len(c.b)):]
}

func (c *column) groups(q []int8) {
	for g := 0; g < len(q); g += 4 {
		c.put(uint32(uint8(q[g])) | uint32(uint8(q[g+1]))<<8 | uint32(uint8(q[g+2]))<<16 | uint32(uint8(q[g+3]))<<24)
	}
}

func quantise32(x []float32, col []byte, stride int) {
	c := column{col, stride}
	var q [32]int8
	for ; len(x) > 0; x = x[32:] {
		d, sum := arith.QuantiseBlock(q[:], x[:32])
		c.put(math.Float32bits(d))
		c.put(math.Float32bits(float32(sum) * d))
		c.put(uint32(-8 * sum))
		c.groups(q[:])
	}
}

func quantise256(x []float32, col []byte, stride int) {
	c := column{col, stride}
	var q [256]int8
	for ; len(x) > 0; x = x[256:] {
		d, _ := arith.QuantiseBlock(q[:], x[:256])
		c.put(math.Float32bits(d))
		for s := 0; s < 256; s += 16 {
			var sum int32
			for _, v := range q[s : s+16] {
				sum += int32(v)
			}
			c.put(uint32(-32 * sum))
		}
		c.groups(q[:])
	}
}
