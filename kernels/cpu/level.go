package cpu

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/cpuid/v2"
)

// Level is a set of instructions that a kernel may use. Higher levels of one
// architecture include the lower ones.
type Level uint8

const (
	// Scalar is plain Go; every machine runs it.
	Scalar Level = iota
	// AVX2 needs AVX2, FMA and F16C.
	AVX2
	// AVX512 needs AVX-512 F, BW, DQ, VL and VNNI besides AVX2.
	AVX512
)

var names = map[Level]string{Scalar: "scalar", AVX2: "avx2", AVX512: "avx512"}

// String gives the name that ASSAY_CPU and --cpu accept.
func (l Level) String() string { return names[l] }

// UnknownLevelError is a level name that this build does not know, or a level
// that this machine cannot run.
type UnknownLevelError struct {
	Name      string
	Supported []Level
}

func (e *UnknownLevelError) Error() string {
	var s []string
	for _, l := range e.Supported {
		s = append(s, l.String())
	}
	return fmt.Sprintf("cpu: level %q is not available on this machine (available: %s)", e.Name, strings.Join(s, ", "))
}

// Detected is the best level of this machine, whatever ASSAY_CPU says.
var Detected = sync.OnceValue(func() Level {
	c := &cpuid.CPU
	if !c.Supports(cpuid.AVX2, cpuid.FMA3, cpuid.F16C) {
		return Scalar
	}
	if c.Supports(cpuid.AVX512F, cpuid.AVX512BW, cpuid.AVX512DQ, cpuid.AVX512VL, cpuid.AVX512VNNI) {
		return AVX512
	}
	return AVX2
})

// Supported lists the levels that this machine can run, lowest first.
func Supported() []Level {
	var s []Level
	for l := Scalar; l <= Detected(); l++ {
		s = append(s, l)
	}
	return s
}

// Parse turns a name into a level that this machine can run. The empty name
// means the best one.
func Parse(name string) (Level, error) {
	if name == "" {
		return Detected(), nil
	}
	for _, l := range Supported() {
		if strings.EqualFold(l.String(), name) {
			return l, nil
		}
	}
	return Scalar, &UnknownLevelError{Name: name, Supported: Supported()}
}

// Default is the level that ASSAY_CPU names, or the best one.
func Default() (Level, error) { return Parse(os.Getenv("ASSAY_CPU")) }
