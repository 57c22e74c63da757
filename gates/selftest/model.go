package selftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"assay/gates/experiment"
)

// The model of self-tests: random weights, small enough for a process of some
// hundredths of a second and large enough that nearly all of its time goes into
// matrix products, which the tiny trained models spend elsewhere.
const (
	modelName   = "selftest.gguf"
	modelHidden = 512
	modelFFN    = 1536
	modelLayers = 2
	modelHeads  = 8
	modelVocab  = 256
)

// writeModel writes the model into a folder and gives its SHA-256. Its bytes are
// the same everywhere.
func writeModel(dir string) (sha string, err error) {
	path := filepath.Join(dir, modelName)
	if err := os.WriteFile(path, model(), 0o644); err != nil {
		return "", err
	}
	return experiment.HashFile(path)
}

// GGUF value and tensor types.
const (
	ggufUint32  = 4
	ggufFloat32 = 6
	ggufString  = 8
	ggmlF32     = 0
	ggmlQ4_0    = 2
)

type tensor struct {
	name       string
	rows, cols int // rows 0: a vector
}

func (t *tensor) kind() uint32 {
	if t.rows == 0 {
		return ggmlF32
	}
	return ggmlQ4_0
}

func (t *tensor) bytes() int {
	if t.rows == 0 {
		return 4 * t.cols
	}
	return t.rows * t.cols / 32 * 18 // a block of 32: a float16 scale and 16 bytes
}

func tensors() []tensor {
	all := []tensor{{"token_embd.weight", modelVocab, modelHidden}, {"output_norm.weight", 0, modelHidden}}
	for l := range modelLayers {
		p := fmt.Sprintf("blk.%d.", l)
		all = append(all, tensor{p + "attn_norm.weight", 0, modelHidden}, tensor{p + "ffn_norm.weight", 0, modelHidden})
		for _, n := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			all = append(all, tensor{p + n + ".weight", modelHidden, modelHidden})
		}
		for _, n := range []string{"ffn_gate", "ffn_up"} {
			all = append(all, tensor{p + n + ".weight", modelFFN, modelHidden})
		}
		all = append(all, tensor{p + "ffn_down.weight", modelHidden, modelFFN})
	}
	return all
}

// model is a GGUF file, version 3, of a llama with tied head.
func model() []byte {
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // into memory: it cannot fail
	text := func(s string) { put(uint64(len(s))); b.WriteString(s) }
	list := tensors()
	numbers := []struct {
		key   string
		value uint32
	}{
		{"block_count", modelLayers}, {"context_length", 2048}, {"embedding_length", modelHidden}, {"feed_forward_length", modelFFN},
		{"attention.head_count", modelHeads}, {"attention.head_count_kv", modelHeads}, {"rope.dimension_count", modelHidden / modelHeads},
		{"vocab_size", modelVocab},
	}
	b.WriteString("GGUF")
	put(uint32(3))
	put(uint64(len(list)))
	put(uint64(len(numbers) + 2))
	text("general.architecture")
	put(uint32(ggufString))
	text("llama")
	for _, n := range numbers {
		text("llama." + n.key)
		put(uint32(ggufUint32))
		put(n.value)
	}
	text("llama.attention.layer_norm_rms_epsilon")
	put(uint32(ggufFloat32))
	put(float32(1e-5))
	offset := 0
	for _, t := range list {
		text(t.name)
		if t.rows == 0 {
			put(uint32(1))
			put(uint64(t.cols))
		} else {
			put(uint32(2))
			put([]uint64{uint64(t.cols), uint64(t.rows)})
		}
		put(t.kind())
		put(uint64(offset))
		offset += (t.bytes() + 31) &^ 31
	}
	random := rand.New(rand.NewPCG(0x61737361, 0x79))
	for _, t := range list {
		pad(&b)
		fill(&b, &t, random)
	}
	pad(&b)
	return b.Bytes()
}

func pad(b *bytes.Buffer) { b.Write(make([]byte, -b.Len()&31)) }

// fill appends ones, or blocks of random nibbles with a scale that keeps sums of a
// row near one.
func fill(b *bytes.Buffer, t *tensor, random *rand.Rand) {
	if t.rows == 0 {
		for range t.cols {
			_ = binary.Write(b, binary.LittleEndian, math.Float32bits(1))
		}
		return
	}
	block := make([]byte, 18)
	for range t.rows * t.cols / 32 {
		binary.LittleEndian.PutUint16(block, 0x2000) // 2^-7
		for i := 2; i < len(block); i += 8 {
			binary.LittleEndian.PutUint64(block[i:], random.Uint64())
		}
		b.Write(block)
	}
}
