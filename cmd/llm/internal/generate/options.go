package generate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"assay/engine"
	"assay/engine/sample"
)

// options are the flags, and what they mean once complete.
type options struct {
	model, prompt, system, ids, json string
	chat                             bool
	tokens, context, threads         int
	cpu, activations                 string
	temperature, topP, minP          float32
	topK                             int
	seed                             uint64

	given func(flag string) bool

	fed    []int32        // --ids
	engine engine.Options // how the model is opened
	sample sample.Options
	notes  []string // for standard error
}

func (o *options) register(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.model, "model", "", "GGUF file, or Hugging Face folder")
	f.StringVar(&o.prompt, "prompt", "", "text to answer or continue; - reads it from standard input")
	f.StringVar(&o.system, "system", "", "system message, in a chat")
	f.BoolVar(&o.chat, "chat", true, "write the prompt in the model's chat template; without the flag, where it has one")
	f.StringVar(&o.ids, "ids", "", "feed these token ids in place of a prompt, as in 1,2,3")
	f.IntVar(&o.tokens, "tokens", 256, "ids to generate at most; -1: until the model or the context ends")
	f.IntVar(&o.context, "context", 0, "positions of the context; 0: the model's, at most "+strconv.Itoa(engine.DefaultContext))
	f.Float32Var(&o.temperature, "temperature", 0, "0 takes the most probable id, larger values draw")
	f.IntVar(&o.topK, "top-k", 40, "draw from the k most probable ids; 0: all")
	f.Float32Var(&o.topP, "top-p", 0.95, "draw from the most probable ids that reach this probability together; 1: all")
	f.Float32Var(&o.minP, "min-p", 0.05, "draw from ids at least this probable relative to the best; 0: all")
	f.Uint64Var(&o.seed, "seed", 0, "the same seed draws the same ids; without the flag, a new one each time")
	f.IntVar(&o.threads, "threads", 0, "worker threads; 0: all cores")
	f.StringVar(&o.cpu, "cpu", "", "kernel level (scalar, avx2, avx512); empty: $ASSAY_CPU, or the best of this machine")
	f.StringVar(&o.activations, "activations", "int8", "int8 is fast, float32 exact, with quantised weights")
	f.StringVar(&o.json, "json", "", "write ids, text, phases and finish reason to a `file`; - or none: to standard output in place of the text")
	f.Lookup("json").NoOptDefVal = "-"
}

// complete checks the flags against each other, before any file is opened.
func (o *options) complete(args []string) error {
	if err := o.source(args); err != nil {
		return err
	}
	switch {
	case o.model == "":
		return errors.New("--model is missing")
	case o.tokens < -1:
		return fmt.Errorf("--tokens %d: want -1 or more", o.tokens)
	case o.context < 0:
		return fmt.Errorf("--context %d: want 0 or more", o.context)
	case o.given("json") && o.json == "":
		return errors.New("--json: the name of the file is empty")
	}
	if err := writable(o.json); err != nil {
		return fmt.Errorf("--json: %w", err)
	}
	activations, err := engine.ParseActivations(o.activations)
	if err != nil {
		return fmt.Errorf("--activations: %w", err)
	}
	o.engine = engine.Options{Threads: o.threads, Activations: activations, CPU: o.cpu}
	return o.sampling()
}

// writable tells what stands in the way of a file that is to be written later.
func writable(path string) error {
	if path == "" || path == "-" {
		return nil
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return fmt.Errorf("%s is a folder", path)
	}
	folder := filepath.Dir(path)
	if st, err := os.Stat(folder); err != nil || !st.IsDir() {
		return fmt.Errorf("%s is no folder to write to", folder)
	}
	return nil
}

// source checks where the prompt comes from.
func (o *options) source(args []string) error {
	if len(args) == 1 && args[0] == "-" && !o.given("prompt") {
		o.prompt, args = "-", nil
	}
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	if !o.given("ids") {
		if o.prompt == "" && !o.given("prompt") {
			return errors.New("--prompt is missing")
		}
		if o.system != "" && o.given("chat") && !o.chat {
			return errors.New("--system needs a chat, and --chat=false forbids one")
		}
		return nil
	}
	switch {
	case o.given("prompt") || o.prompt != "":
		return errors.New("--ids and --prompt exclude each other")
	case o.system != "", o.given("chat") && o.chat:
		return errors.New("--ids are fed as they are: --system and --chat do not apply")
	}
	ids, err := parseIDs(o.ids)
	o.fed = ids
	return err
}

func parseIDs(list string) ([]int32, error) {
	var ids []int32
	for _, field := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		id, err := strconv.ParseInt(field, 10, 32)
		if err != nil || id < 0 {
			return nil, fmt.Errorf("--ids: %q is not a token id", field)
		}
		ids = append(ids, int32(id))
	}
	if len(ids) == 0 {
		return nil, errors.New("--ids: the list is empty")
	}
	return ids, nil
}

// sampling settles how ids are drawn.
func (o *options) sampling() error {
	if !o.given("seed") {
		o.seed = rand.Uint64() >> 11 // fits a JSON number
	}
	o.sample = sample.Options{Temperature: o.temperature, TopK: o.topK, TopP: o.topP, MinP: o.minP, Seed: o.seed}
	if err := o.sample.Validate(); err != nil {
		return err
	}
	if o.temperature < 0 {
		return fmt.Errorf("--temperature %v: want 0 or more", o.temperature)
	}
	if o.temperature == 0 {
		for _, flag := range []string{"top-k", "top-p", "min-p", "seed"} {
			if o.given(flag) {
				o.notes = append(o.notes, fmt.Sprintf("--%s changes nothing while --temperature is 0", flag))
			}
		}
	}
	return nil
}
