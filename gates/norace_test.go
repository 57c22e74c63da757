//go:build !race

package gates

const raceDetector = false
