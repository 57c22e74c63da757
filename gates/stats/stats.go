package stats

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Confidence of every interval.
const Confidence = 0.95

// MinSamples is the least number of samples whose extremes are an interval of
// that confidence for the median.
const MinSamples = 6

// Estimate is a median and its interval. With fewer than MinSamples samples the
// interval is the range of the samples, and a warning says so.
type Estimate struct {
	Value, Low, High float64
	N                int
	Confidence       float64 // that the interval really has; at least the asked one, 0 when there are too few samples
	Warnings         []string
}

// PlusMinus is the larger distance of the interval's ends from the value, as a
// part of the value.
func (e Estimate) PlusMinus() float64 {
	if e.Value == 0 {
		return 0
	}
	return max(e.High-e.Value, e.Value-e.Low) / math.Abs(e.Value)
}

// Median estimates the median of samples. Values that are not finite are an error
// of whoever measured; they are refused.
func Median(samples []float64) (Estimate, error) {
	if len(samples) == 0 {
		return Estimate{}, fmt.Errorf("stats: no samples")
	}
	for i, x := range samples {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return Estimate{}, fmt.Errorf("stats: sample %d is %v", i, x)
		}
	}
	s := benchmath.NewSample(slices.Clone(samples), &benchmath.DefaultThresholds)
	sum := benchmath.AssumeNothing.Summary(s, Confidence)
	e := Estimate{Value: sum.Center, Low: sum.Lo, High: sum.Hi, N: len(samples), Confidence: sum.Confidence}
	for _, w := range slices.Concat(s.Warnings, sum.Warnings) {
		e.Warnings = append(e.Warnings, w.Error())
	}
	if math.IsInf(e.Low, 0) || math.IsInf(e.High, 0) {
		e.Low, e.High, e.Confidence = slices.Min(samples), slices.Max(samples), 0
	}
	return e, nil
}

// PairedRatio estimates the median of numerator[i]/denominator[i]: what a pair
// measured close together in time has in common cancels out. The interval is the
// one of the median of the ratios.
func PairedRatio(numerator, denominator []float64) (Estimate, error) {
	if len(numerator) != len(denominator) {
		return Estimate{}, fmt.Errorf("stats: %d numerators, %d denominators", len(numerator), len(denominator))
	}
	ratios := make([]float64, len(numerator))
	for i := range ratios {
		if denominator[i] <= 0 {
			return Estimate{}, fmt.Errorf("stats: denominator %d is %v", i, denominator[i])
		}
		ratios[i] = numerator[i] / denominator[i]
	}
	return Median(ratios)
}
