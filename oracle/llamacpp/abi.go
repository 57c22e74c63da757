//lint:file-ignore U1000 every field has its place in the layout of a struct

package llamacpp

import (
	"fmt"
	"unsafe"
)

// The structs below have the layouts of llama.cpp v0.4.0 (ggml 0.23.0) on 64-bit Linux; sizes in bytes behind each.

type modelParams struct { // 80
	devices, tensorBuftOverrides                                    uintptr
	gpuLayers, splitMode, loadMode, lazyMode, mainGPU               int32
	tensorSplit, progress, progressData, kvOverrides                uintptr
	vocabOnly, checkTensors, extraBuffers, noHost, noAlloc, loadMTP bool
}

type contextParams struct { // 160
	ctx, batch, microBatch, sequences, rsSequences, outputs, outputsPerSequence uint32
	threads, threadsBatch                                                       int32
	contextType, ropeScaling, pooling, attention, flashAttention                int32
	ropeBase, ropeScale                                                         float32
	yarnExt, yarnAttn, yarnFast, yarnSlow                                       float32
	yarnOriginal                                                                uint32
	defrag                                                                      float32
	evalCallback, evalData                                                      uintptr
	typeK, typeV                                                                int32
	abortCallback, abortData                                                    uintptr
	embeddings, offloadKQV, noPerf, opOffload, swaFull, kvUnified               bool
	samplers                                                                    uintptr
	samplerCount                                                                uint64
	other                                                                       uintptr
}

type quantizeParams struct { // 64
	threads, fileType, outputType, embeddingType                  int32
	requantize, quantizeOutput, onlyCopy, pure, keepSplit, dryRun bool
	importance, kvOverrides, tensorTypes, pruneLayers             uintptr
	maxBuffer                                                     uint64
}

type batch struct { // 56
	count     int32
	token     *int32
	embedding *float32
	position  *int32
	seqCount  *int32
	seqID     **int32
	logits    *int8
}

// tensor mirrors struct ggml_tensor.
type tensor struct { // 336
	kind     int32
	buffer   uintptr
	ne       [4]int64
	nb       [4]uint64
	op       int32
	opParams [16]int32
	flags    int32
	src      [10]uintptr
	viewSrc  uintptr
	viewOff  uint64
	data     unsafe.Pointer
	name     [64]byte
	extra    uintptr
	padding  [8]byte
}

// api is what is called of the library.
type api struct {
	loadBackends    func(dir string)
	loadBackend     func(path string) uintptr
	backendInit     func()
	llamaLog        func(callback, data uintptr)
	ggmlLog         func(callback, data uintptr)
	version         func() string
	systemInfo      func() string
	ggmlVersion     func() string
	ggmlCommit      func() string
	opName          func(t *tensor) string
	modelDefaults   func() modelParams
	contextDefaults func() contextParams
	modelLoad       func(path string, p modelParams) uintptr
	modelFree       func(m uintptr)
	contextNew      func(m uintptr, p contextParams) uintptr
	contextFree     func(c uintptr)
	decode          func(c uintptr, b batch) int32
	synchronize     func(c uintptr)
	logits          func(c uintptr, i int32) *float32
	vocab           func(m uintptr) uintptr
	vocabCount      func(v uintptr) int32
	isEnd           func(v uintptr, id int32) bool
	layers          func(m uintptr) int32
	embedding       func(m uintptr) int32
	heads           func(m uintptr) int32
	kvHeads         func(m uintptr) int32
	ropeType        func(m uintptr) int32
	describe        func(m uintptr, buf *byte, n uint64) int32
	modelSize       func(m uintptr) uint64
	memory          func(c uintptr) uintptr
	memoryClear     func(mem uintptr, data bool)
	stateSize       func(c uintptr, seq int32) uint64
	stateGet        func(c uintptr, dst *byte, n uint64, seq int32) uint64
	tokenize        func(v uintptr, text *byte, n int32, out *int32, max int32, special, parse bool) int32
	quantDefaults   func() quantizeParams
	quantize        func(in, out string, p *quantizeParams) uint32
}

// checkSizes holds our structs to the sizes of the release.
func checkSizes() error {
	for _, s := range []struct {
		name      string
		got, want uintptr
	}{
		{"llama_model_params", unsafe.Sizeof(modelParams{}), 80}, {"llama_context_params", unsafe.Sizeof(contextParams{}), 160},
		{"llama_batch", unsafe.Sizeof(batch{}), 56}, {"llama_model_quantize_params", unsafe.Sizeof(quantizeParams{}), 64}, {"ggml_tensor", unsafe.Sizeof(tensor{}), 336},
	} {
		if s.got != s.want {
			return &LayoutError{What: "struct " + s.name, Got: fmt.Sprintf("%d bytes here, %d there", s.got, s.want)}
		}
	}
	return nil
}

// checkDefaults looks at default values that a moved field would scramble.
func (a *api) checkDefaults() error {
	m, c, q := a.modelDefaults(), a.contextDefaults(), a.quantDefaults()
	if m.loadMode < -1 || m.loadMode > 4 || m.tensorSplit != 0 || !m.extraBuffers || m.vocabOnly || m.noAlloc {
		return &LayoutError{What: "llama_model_params", Got: fmt.Sprintf("%+v", m)}
	}
	if c.ctx != 512 || c.batch != 2048 || c.microBatch != 512 || c.sequences != 1 || c.ropeScaling != -1 || c.pooling != -1 ||
		c.typeK != 1 || c.typeV != 1 || !c.offloadKQV || c.other != 0 {
		return &LayoutError{What: "llama_context_params", Got: fmt.Sprintf("%+v", c)}
	}
	if !q.quantizeOutput || q.pure || q.importance != 0 || q.maxBuffer != 8<<30 {
		return &LayoutError{What: "llama_model_quantize_params", Got: fmt.Sprintf("%+v", q)}
	}
	return nil
}
