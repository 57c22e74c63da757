package sample

import "math"

// exp gives e^x for x <= 0 to about one unit in the last place of float64, with
// the same bits everywhere: math.Exp differs between architectures. It reduces
// x = k ln2 + r with |r| <= ln2/2 and sums the Taylor series of e^r to r^13.
func exp(x float64) float64 {
	const (
		ln2Hi = 6.93147180369123816490e-01
		ln2Lo = 1.90821492927058770002e-10
	)
	switch {
	case x != x:
		return 0
	case x < -708:
		return 0 // below the smallest normal number
	case x >= 0:
		return 1
	}
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	r := float64(x-float64(k*ln2Hi)) - float64(k*ln2Lo)
	sum := 1.0 / 6227020800
	for _, c := range taylor {
		sum = float64(sum*r) + c
	}
	return sum * math.Float64frombits(uint64(int64(k)+1023)<<52)
}

// taylor holds 1/n! for n = 12 down to 0.
var taylor = [13]float64{
	1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
	1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1,
}
