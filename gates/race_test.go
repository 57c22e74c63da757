//go:build race

package gates

const raceDetector = true
