package attention

import (
	"math"
	"unsafe"

	"assay/kernels/arith"
	"assay/kernels/cpu"
)

// MaxColumns is the number of queries that one call handles together.
const MaxColumns = 6

// outer adds n products to C columns of 16 lanes (C is fixed by the function):
// acc[c*ldacc+lane] = fma(a[j][lane], b[c*ldb+j], acc[...]), j ascending; rows of
// a are astride bytes apart.
type outer func(acc *float32, ldacc int, a *byte, astride int, b *float32, ldb int, n int)

// Set is one implementation.
type Set struct {
	Level    cpu.Level
	f16, f32 []outer // [columns-1]
	// softmax scales a block of raw scores (16*groups, missing ones -Inf), turns
	// them into weights and updates state = {max, sum, correction}.
	softmax func(p *float32, groups int, scale *float32, state *float32)
}

// Sets lists every implementation in this build, scalar first.
func Sets() []*Set { return sets }

var sets = []*Set{scalarSet()}

// For returns the best implementation at or below a level.
func For(level cpu.Level) *Set {
	best := sets[0]
	for _, s := range sets {
		if s.Level <= level && s.Level >= best.Level {
			best = s
		}
	}
	return best
}

func scalarSet() *Set {
	s := &Set{Level: cpu.Scalar, softmax: softmaxScalar}
	for c := 1; c <= MaxColumns; c++ {
		s.f16 = append(s.f16, outerScalar(c, 2))
		s.f32 = append(s.f32, outerScalar(c, 4))
	}
	return s
}

func outerScalar(C, size int) outer {
	return func(acc *float32, ldacc int, a *byte, astride int, b *float32, ldb int, n int) {
		as := unsafe.Slice(acc, (C-1)*ldacc+16)
		bs := unsafe.Slice(b, (C-1)*ldb+n)
		for j := range n {
			p := unsafe.Add(unsafe.Pointer(a), j*astride)
			for lane := range 16 {
				var v float32
				if size == 2 {
					v = arith.F16(*(*uint16)(unsafe.Add(p, 2*lane)))
				} else {
					v = *(*float32)(unsafe.Add(p, 4*lane))
				}
				for c := range C {
					as[c*ldacc+lane] = arith.FMA32(v, bs[c*ldb+j], as[c*ldacc+lane])
				}
			}
		}
	}
}

func softmaxScalar(p *float32, groups int, scale *float32, state *float32) {
	ps, st := unsafe.Slice(p, 16*groups), unsafe.Slice(state, 3)
	m := st[0]
	for j := range ps {
		ps[j] *= *scale
		if ps[j] > m {
			m = ps[j]
		}
	}
	c := arith.Exp(st[0] - m)
	var l [16]float32
	for j := range ps {
		ps[j] = arith.Exp(ps[j] - m)
		l[j&15] += ps[j]
	}
	st[0], st[1], st[2] = m, float32(st[1]*c)+arith.Tree16(&l), c
}

var negativeInfinity = float32(math.Inf(-1))
