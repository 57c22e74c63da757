package arith

// Tree8 adds eight lanes in the order of the contract:
// lo[i] = l[i]+l[i+4]; ((lo0+lo2) + (lo1+lo3)).
func Tree8(l *[8]float32) float32 {
	a, b, c, d := l[0]+l[4], l[1]+l[5], l[2]+l[6], l[3]+l[7]
	return (a + c) + (b + d)
}

// Tree16 adds sixteen lanes: first l[i]+l[i+8], then Tree8.
func Tree16(l *[16]float32) float32 {
	var h [8]float32
	for i := range h {
		h[i] = l[i] + l[i+8]
	}
	return Tree8(&h)
}

// DotLanes is the dot product of float weights w and activations x of the same
// length: lane k mod 8 takes fma(w[k], x[k], lane), k ascending; Tree8 at the
// end. A length that is no multiple of 8 is padded with zeros on both sides.
func DotLanes(w, x []float32) float32 {
	var l [8]float32
	for k := range w {
		l[k&7] = FMA32(w[k], x[k], l[k&7])
	}
	for k := len(w); k&7 != 0; k++ {
		l[k&7] = FMA32(0, 0, l[k&7]) // turns -0 into +0, as the padding does
	}
	return Tree8(&l)
}

// DotChain is one output of an outer-product chain:
// acc = fma(a[k], b[k], acc), k ascending from acc.
func DotChain(acc float32, a, b []float32) float32 {
	for k := range a {
		acc = FMA32(a[k], b[k], acc)
	}
	return acc
}
