package checkpoint

// Config describes a decoder-only model: every number that its forward pass
// needs beside the weights. It is read-only once Open has returned it.
type Config struct {
	Family string // "llama" or "qwen2"

	Layers   int
	Hidden   int // width of the residual stream
	Heads    int // query heads
	KVHeads  int // key/value heads; query head h uses KV head h / (Heads/KVHeads)
	HeadDim  int // need not be Hidden/Heads
	FFN      int // width inside the feed-forward
	Vocab    int // rows of the embedding
	Context  int // tokens the model was made for
	NormEps  float32
	Rope     Rope
	TiedHead bool // the embedding is also the output matrix; there is no output.weight

	// Activation of the gated feed-forward: "silu" or "gelu_tanh".
	Activation string

	AttentionBias bool // attn_q, attn_k and attn_v have biases
	OutputBias    bool // attn_output has a bias
	MLPBias       bool // ffn_gate, ffn_up and ffn_down have biases

	BOS []int32 // start of sequence; empty where the file names none
	EOS []int32 // every id that ends a turn or the text

	// Notes are choices that Open made and a reader may want to know, such as
	// which of two heads is used.
	Notes []string
}

// Pairing tells which two elements of a head one rotation turns.
type Pairing uint8

const (
	// Adjacent pairs (2i, 2i+1): GGUF files of the llama family, whose rows of
	// Q and K are stored in that order.
	Adjacent Pairing = iota
	// Halves pairs (i, i+d/2): every Hugging Face folder, and qwen2 in GGUF.
	Halves
)

// String is "adjacent" or "halves".
func (p Pairing) String() string {
	if p == Halves {
		return "halves"
	}
	return "adjacent"
}

// Scaling is the rule that stretches rotary frequencies f_i = Base^(-2i/Dim).
type Scaling uint8

const (
	// ScaleNone leaves the f_i as they are (but see Rope.Divisors).
	ScaleNone Scaling = iota
	// ScaleLinear divides each f_i by Factor.
	ScaleLinear
	// ScaleLlama3 keeps short wavelengths, divides the f_i of long ones by
	// Factor and blends between: with w = 2 pi/f and n = OriginalContext,
	// w < n/HighFreq unchanged; w > n/LowFreq f/Factor; else with
	// m = (n/w - LowFreq)/(HighFreq - LowFreq) it is (1-m) f/Factor + m f.
	ScaleLlama3
)

// String is the name that Hugging Face configs use: default, linear, llama3.
func (s Scaling) String() string {
	switch s {
	case ScaleLinear:
		return "linear"
	case ScaleLlama3:
		return "llama3"
	}
	return "default"
}

// Rope describes the rotary position embedding.
type Rope struct {
	Base    float64
	Dim     int // elements of a head that are rotated; even, at most HeadDim
	Pairing Pairing

	Scaling         Scaling
	Factor          float64 // ScaleLinear, ScaleLlama3
	LowFreq         float64 // ScaleLlama3
	HighFreq        float64 // ScaleLlama3
	OriginalContext int     // ScaleLlama3

	// Divisors, Dim/2 of them where the file has rope_freqs.weight, divide the
	// f_i: llama-3 scaling as GGUF stores it. nil otherwise.
	Divisors []float32
}
