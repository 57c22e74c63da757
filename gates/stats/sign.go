package stats

import (
	"cmp"
	"math"
	"slices"
)

// Rank is the largest k for which the interval from the k-th smallest to the k-th
// largest of n values misses their median with probability at most alpha, whatever
// the distribution: 2 * P(Binomial(n, 1/2) < k) <= alpha. It is 0 when not even
// the range of all values is such an interval.
//
// Source: W. J. Dixon and A. M. Mood, The Statistical Sign Test, JASA 41 (1946).
func Rank(n int, alpha float64) int {
	p := math.Pow(0.5, float64(n)) // P(X = i)
	tail, k := 0.0, 0
	for i := 0; i < n/2; i++ {
		tail += p
		if 2*tail > alpha {
			break
		}
		k = i + 1
		p *= float64(n-i) / float64(i+1)
	}
	return k
}

// Outside is the p-value of the sign test against a median within [low, high]:
// how probable values are that lie this much to one side when their median does
// not. Below alpha it means that the interval of Rank(n, alpha) lies wholly below
// low or wholly above high.
func Outside(values []float64, low, high float64) float64 {
	notBelow, notAbove := 0, 0
	for _, v := range values {
		if v >= low {
			notBelow++
		}
		if v <= high {
			notAbove++
		}
	}
	return min(1, 2*binomialTail(len(values), min(notBelow, notAbove)))
}

// binomialTail is P(Binomial(n, 1/2) <= k).
func binomialTail(n, k int) (sum float64) {
	p := math.Pow(0.5, float64(n))
	for i := 0; i <= k; i++ {
		sum += p
		p *= float64(n-i) / float64(i+1)
	}
	return sum
}

// Holm gives each of several hypotheses that are tested together the alpha at
// which it is tested, so that the probability of rejecting any true one is at most
// alpha: the smallest p-value is held to alpha/m, the next to alpha/(m-1), and so
// on; from the first that is not rejected on, all are held to what that one was.
//
// Source: S. Holm, A Simple Sequentially Rejective Multiple Test Procedure,
// Scandinavian Journal of Statistics 6 (1979).
func Holm(p []float64, alpha float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out := make([]float64, len(p))
	stopped := 0.0
	for i, at := range order {
		own := alpha / float64(len(p)-i)
		if stopped == 0 && p[at] > own {
			stopped = own
		}
		if stopped > 0 {
			own = stopped
		}
		out[at] = own
	}
	return out
}
