package engine

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"assay/engine/decoder"
	"assay/engine/kv"
	"assay/kernels/cpu"
)

// Activations is how quantised weights meet activations.
type Activations uint8

const (
	// Auto is Int8.
	Auto Activations = iota
	// Int8 rounds activations to int8 blocks before a product with quantised
	// weights; float weights multiply float activations all the same.
	Int8
	// Float32 decodes weights exactly and keeps activations in float32: slower,
	// for fidelity and for checking structure.
	Float32
)

// String is "int8" or "float32".
func (a Activations) String() string {
	if a == Float32 {
		return "float32"
	}
	return "int8"
}

// ParseActivations reads the name that command lines use.
func ParseActivations(name string) (Activations, error) {
	switch name {
	case "", "auto", "int8":
		return Int8, nil
	case "float32":
		return Float32, nil
	}
	return Auto, fmt.Errorf("engine: unknown activations %q (int8, float32)", name)
}

// Options say how a model is opened. The zero value is what a user wants.
type Options struct {
	Threads     int         // workers; 0: the cores that the process may use
	Activations Activations // Auto: Int8
	CPU         string      // kernel level by name; "": $ASSAY_CPU, or the best of this machine

	// Alter changes the description of the architecture before it is used, for
	// experiments and for seeding faults that gates must find.
	Alter func(*decoder.Spec)

	// Tuning changes how things are computed, never a bit of what; for experiments.
	Tuning decoder.Tuning
}

// littleEndian tells how this processor stores numbers. Panels and key/value
// state are written byte by byte and read as numbers, which is the same only here.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

func (o *Options) resolve() (cpu.Level, error) {
	if !littleEndian {
		return 0, fmt.Errorf("engine: %s stores numbers in big-endian byte order, which the kernels do not read: unsupported", runtime.GOARCH)
	}
	if o.Threads < 0 || o.Threads > MaxThreads {
		return 0, fmt.Errorf("engine: %d threads: want 1 to %d, or 0 for all cores", o.Threads, MaxThreads)
	}
	if o.Threads == 0 {
		o.Threads = min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	}
	if o.Activations == Auto {
		o.Activations = Int8
	}
	if o.CPU != "" {
		return cpu.Parse(o.CPU)
	}
	return cpu.Default()
}

// MaxThreads is the largest number of workers that a model is opened with.
const MaxThreads = 1024

// SessionOptions say how a session keeps its state.
type SessionOptions struct {
	// Context is the number of positions that the session can hold; 0: the
	// model's, at most DefaultContext.
	Context int
	// KV is the number format of keys and values.
	KV kv.Type
	// Chunk feeds prompts in pieces of at most this many tokens; 0: as suits the
	// engine. It changes no bit of the results.
	Chunk int
	// Observer receives rows of every evaluation; nil for none.
	Observer *Observer
}

// DefaultContext bounds the context of a session that does not ask for one.
const DefaultContext = 8192

// Observer receives intermediate rows. Slices are reused after the call.
type Observer struct {
	// Logits gets the logits of every fed token, [vocab].
	Logits func(position int, row []float32)
	// Hidden gets the residual stream, [hidden]: layer -1 is the embedding, layer i
	// the exit of layer i.
	Hidden func(layer, position int, row []float32)
	// Node gets named intermediates: attn_norm, Qcur, Kcur (both after the rotary
	// embedding), Vcur, kqv_out, ffn_inp, ffn_norm, ffn_gate_par, ffn_out.
	Node func(name string, layer, position int, row []float32)
}
