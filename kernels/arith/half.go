package arith

import "math"

// F16 widens an IEEE-754 binary16 value exactly.
func F16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	man := uint32(h) & 0x3ff
	switch exp {
	case 0: // zero or subnormal: man * 2^-24
		f := float32(man) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f: // infinity, or NaN made quiet
		if man != 0 {
			man |= 0x200
		}
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// ToF16 rounds to binary16, to nearest even; too large values become infinite.
func ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7c00 | 0x200 | uint16(b>>13)&0x3ff
	case b >= 0x477ff000: // 65520 and above
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: subnormal, unit 2^-24
		// Adding 0.5 puts the unit in the last place at 2^-24, so that the
		// addition itself rounds to nearest even.
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}

// BF16 widens a bfloat16 value exactly.
func BF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
