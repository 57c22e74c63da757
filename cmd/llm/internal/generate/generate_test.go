package generate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/engine/tokenizer"
	"assay/fixtures"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var folder string // of the fixtures

func TestMain(m *testing.M) { os.Exit(withFixtures(m)) }

func withFixtures(m *testing.M) int {
	dir, err := os.MkdirTemp("", "llmgen")
	if err == nil {
		defer os.RemoveAll(dir)
		folder, err = dir, fixtures.Materialise(dir)
	}
	if err != nil {
		panic(err)
	}
	return m.Run()
}

func model(name string) string { return filepath.Join(folder, "models", name) }

// llmgen runs the command in this process.
func llmgen(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = Main(t.Context(), args, strings.NewReader(stdin), &out, &err)
	return status, out.String(), err.String()
}

// generated runs the command with --json and reads what it wrote.
func generated(t *testing.T, args ...string) result {
	t.Helper()
	status, stdout, stderr := llmgen(t, "", append(args, "--json")...)
	require.Equal(t, exitDone, status, stderr)
	var r result
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&r), stdout)
	return r
}

const question = "What is the capital of France?"

func TestAQuestionIsAnsweredInTheModelsTemplate(t *testing.T) {
	for _, name := range []string{"llama", "llama-F32.gguf", "llama-Q8_0.gguf"} {
		status, stdout, stderr := llmgen(t, "", "--model", model(name), "--prompt", question)
		assert.Equal(t, exitDone, status, stderr)
		assert.Equal(t, "The capital of France is Paris.\n", stdout, name)
		assert.Contains(t, stderr, "decode")
		assert.Contains(t, stderr, "| stop |")
	}
}

func TestTheJSONTellsIDsTextPhasesAndReason(t *testing.T) {
	r := generated(t, "--model", model("llama"), "--prompt", question, "--threads", "1", "--cpu", "scalar", "--activations", "float32")
	assert.Equal(t, Format, r.Format)
	assert.Equal(t, "llama", r.Family)
	assert.Equal(t, "scalar", r.Level)
	assert.Equal(t, "float32", r.Activations)
	assert.Equal(t, 1, r.Threads)
	assert.True(t, r.Chat)
	assert.Nil(t, r.Seed)
	assert.Equal(t, "The capital of France is Paris.", r.Text)
	assert.Equal(t, finishStop, r.FinishReason)
	tokens := map[string]int{}
	for _, p := range r.Phases {
		tokens[p.Phase] = p.Tokens
	}
	want := map[string]int{"load": 0, "prepare": 0, "prompt": len(r.PromptIDs), "boundary": 1, "decode": len(r.IDs) - 1}
	assert.Equal(t, want, tokens, "the last id is chosen and not evaluated")
	tok, err := tokenizer.FromHuggingFace(model("llama"))
	require.NoError(t, err)
	assert.True(t, tok.IsEOS(r.IDs[len(r.IDs)-1]), "the id that ended the turn is listed")
	assert.Equal(t, r.Text, tok.Decode(r.IDs, true))
}

func TestJSONGoesToTheNamedFileBesideTheText(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	for _, flag := range [][]string{{"--json", file}, {"--json=" + file}} {
		status, stdout, stderr := llmgen(t, "", append(flag, "--model", model("llama"), "--prompt", question)...)
		require.Equal(t, exitDone, status, stderr)
		assert.Equal(t, "The capital of France is Paris.\n", stdout)
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		var r result
		require.NoError(t, json.Unmarshal(b, &r))
		assert.Equal(t, "The capital of France is Paris.", r.Text)
		require.NoError(t, os.Remove(file))
	}
}

func TestGreedyTextIsTheSameOnEveryLevelAndThreadCount(t *testing.T) {
	first := generated(t, "--model", model("llama-Q4_0.gguf"), "--prompt", question, "--cpu", "scalar", "--threads", "1")
	second := generated(t, "--model", model("llama-Q4_0.gguf"), "--prompt", question, "--threads", "3")
	assert.Equal(t, first.IDs, second.IDs)
	assert.NotEmpty(t, first.IDs)
}

func TestASeedRepeatsItsDraw(t *testing.T) {
	args := []string{"--model", model("llama"), "--prompt", "Tell me a story.", "--temperature", "1.5", "--top-p", "1", "--min-p", "0", "--top-k", "0"}
	one := generated(t, append(args, "--seed", "7")...)
	again := generated(t, append(args, "--seed", "7")...)
	other := generated(t, append(args, "--seed", "8")...)
	assert.Equal(t, one.IDs, again.IDs)
	assert.NotEqual(t, one.IDs, other.IDs)
	require.NotNil(t, one.Seed)
	assert.EqualValues(t, 7, *one.Seed)
	unseeded := generated(t, args...)
	require.NotNil(t, unseeded.Seed, "a draw can be repeated from its report")
}

func TestIDsAreFedAsTheyAre(t *testing.T) {
	chat := generated(t, "--model", model("llama"), "--prompt", question)
	list := strings.Trim(strings.ReplaceAll(string(must(json.Marshal(chat.PromptIDs))), " ", ""), "[]")
	fed := generated(t, "--model", model("llama"), "--ids", list)
	assert.Equal(t, chat.PromptIDs, fed.PromptIDs)
	assert.Equal(t, chat.IDs, fed.IDs)
	assert.False(t, fed.Chat)
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestWithoutATokenizerIDsArePrinted(t *testing.T) {
	bare := bareModel(t)
	status, stdout, stderr := llmgen(t, "", "--model", bare, "--ids", "1,2,3", "--tokens", "3")
	require.Equal(t, exitDone, status, stderr)
	assert.Regexp(t, `^\d+(,\d+){0,2}\n$`, stdout)
	assert.Contains(t, stderr, "ids are printed")
	status, _, stderr = llmgen(t, "", "--model", bare, "--prompt", question)
	assert.Equal(t, exitRefused, status)
	assert.Contains(t, stderr, "tokenizer")
	assert.Contains(t, stderr, "--ids")
}

// bareModel is the tiny llama without its tokenizer.
func bareModel(t *testing.T) string {
	dir := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		b, err := os.ReadFile(filepath.Join(model("llama"), name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	return dir
}

func TestThePromptCanComeFromStandardInput(t *testing.T) {
	for _, args := range [][]string{{"--prompt", "-"}, {"-"}} {
		status, stdout, stderr := llmgen(t, question+"\n", append(args, "--model", model("llama"))...)
		require.Equal(t, exitDone, status, stderr)
		assert.Equal(t, "The capital of France is Paris.\n", stdout)
	}
}

func TestASystemMessageComesFirst(t *testing.T) {
	r := generated(t, "--model", model("llama"), "--system", "Be brief.", "--prompt", question)
	tok, err := tokenizer.FromHuggingFace(model("llama"))
	require.NoError(t, err)
	prompt := tok.Decode(r.PromptIDs, false)
	assert.Less(t, strings.Index(prompt, "Be brief."), strings.Index(prompt, question))
	assert.Contains(t, prompt, "Be brief.")
}

func TestRawTextHasNoTemplate(t *testing.T) {
	r := generated(t, "--model", model("llama"), "--chat=false", "--prompt", "The capital of", "--tokens", "4")
	assert.False(t, r.Chat)
	assert.Less(t, len(r.PromptIDs), len(generated(t, "--model", model("llama"), "--prompt", "The capital of").PromptIDs))
}

func TestTokensAndContextBoundTheText(t *testing.T) {
	few := generated(t, "--model", model("llama"), "--prompt", question, "--tokens", "3")
	assert.Len(t, few.IDs, 3)
	assert.Equal(t, finishLength, few.FinishReason)
	none := generated(t, "--model", model("llama"), "--prompt", question, "--tokens", "0")
	assert.Empty(t, none.IDs)
	assert.Equal(t, finishLength, none.FinishReason)
	full := generated(t, "--model", model("llama"), "--ids", "1,2,3,4", "--context", "4", "--tokens", "-1")
	assert.Len(t, full.IDs, 1, "the id after the last position needs no room")
	assert.Equal(t, finishLength, full.FinishReason)
}

// brake cancels at the first text.
type brake struct {
	written strings.Builder
	cancel  func()
}

func (b *brake) Write(p []byte) (int, error) {
	b.cancel()
	return b.written.Write(p)
}

func TestAnInterruptionKeepsTheTextSoFar(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdout := &brake{cancel: cancel}
	var stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "result.json")
	status := Main(ctx, []string{"--model", model("llama"), "--prompt", question, "--json", file}, strings.NewReader(""), stdout, &stderr)
	assert.Equal(t, exitInterrupted, status, stderr.String())
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var r result
	require.NoError(t, json.Unmarshal(b, &r))
	assert.Equal(t, finishInterrupted, r.FinishReason)
	assert.NotEmpty(t, r.Text)
	assert.Equal(t, r.Text+"\n", stdout.written.String())
	assert.True(t, strings.HasPrefix("The capital of France is Paris.", r.Text))
	assert.NotContains(t, stderr.String(), "llmgen:", "an interruption is no error")
}

func TestAnInterruptionEndsWaitingAndLoadingToo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reader, writer := io.Pipe() // nobody writes
	defer writer.Close()
	for _, prompt := range []string{"-", question} {
		status := Main(ctx, []string{"--model", model("llama"), "--prompt", prompt}, reader, io.Discard, io.Discard)
		assert.Equal(t, exitInterrupted, status, prompt)
	}
}

func TestTextIsStreamedInWholeCharacters(t *testing.T) {
	tok, err := tokenizer.FromHuggingFace(model("llama"))
	require.NoError(t, err)
	const said = "naïve 🙂 日本語"
	ids, err := tok.Encode(said, tokenizer.EncodeOptions{})
	require.NoError(t, err)
	require.Greater(t, len(ids), utf8.RuneCountInString(said), "characters are split over ids")
	pieces := &recorder{}
	w := newText(&options{}, tok, pieces)
	for _, id := range ids {
		require.NoError(t, w.push(id))
	}
	require.NoError(t, w.flush())
	assert.Equal(t, said+"\n", strings.Join(pieces.writes, ""))
	for _, p := range pieces.writes {
		assert.True(t, utf8.ValidString(p), "%q", p)
	}
}

type recorder struct{ writes []string }

func (r *recorder) Write(p []byte) (int, error) {
	r.writes = append(r.writes, string(p))
	return len(p), nil
}

func TestUnusableRequestsAreRefusedInOneLine(t *testing.T) {
	llama := model("llama")
	cases := []struct {
		name string
		args []string
		says string
	}{
		{"nothing", nil, "--prompt is missing"},
		{"no model", []string{"--prompt", "x"}, "--model is missing"},
		{"no prompt", []string{"--model", llama}, "--prompt is missing"},
		{"missing model", []string{"--model", "nowhere.gguf", "--prompt", "x"}, "nowhere.gguf"},
		{"not a model", []string{"--model", filepath.Join(llama, "tokenizer.json"), "--prompt", "x"}, "tokenizer.json"},
		{"unknown flag", []string{"--modle", "x"}, "--modle"},
		{"stray argument", []string{"--model", llama, "--prompt", "x", "y"}, `"y"`},
		{"bad number", []string{"--model", llama, "--prompt", "x", "--tokens", "many"}, "many"},
		{"negative tokens", []string{"--model", llama, "--prompt", "x", "--tokens", "-2"}, "--tokens -2"},
		{"negative threads", []string{"--model", llama, "--prompt", "x", "--threads", "-1"}, "threads"},
		{"unknown level", []string{"--model", llama, "--prompt", "x", "--cpu", "mmx"}, `"mmx"`},
		{"unknown activations", []string{"--model", llama, "--prompt", "x", "--activations", "int3"}, `"int3"`},
		{"negative temperature", []string{"--model", llama, "--prompt", "x", "--temperature", "-1"}, "--temperature"},
		{"temperature that is no number", []string{"--model", llama, "--prompt", "x", "--temperature", "NaN"}, "temperature"},
		{"top-p below zero", []string{"--model", llama, "--prompt", "x", "--top-p", "-0.1"}, "top-p"},
		{"word as id", []string{"--model", llama, "--ids", "1,two"}, `"two"`},
		{"no ids", []string{"--model", llama, "--ids", ""}, "empty"},
		{"id outside the vocabulary", []string{"--model", llama, "--ids", "1,99999"}, "99999"},
		{"ids and prompt", []string{"--model", llama, "--ids", "1", "--prompt", "x"}, "exclude"},
		{"ids and system", []string{"--model", llama, "--ids", "1", "--system", "x"}, "--system"},
		{"ids and chat", []string{"--model", llama, "--ids", "1", "--chat"}, "--chat"},
		{"system without chat", []string{"--model", llama, "--prompt", "x", "--chat=false", "--system", "y"}, "--system"},
		{"long prompt", []string{"--model", llama, "--ids", "1,2,3", "--context", "2"}, "3 ids"},
		{"context beyond the model", []string{"--model", llama, "--prompt", "x", "--context", "1000000"}, "--context 1000000"},
		{"json without a name", []string{"--model", llama, "--prompt", "x", "--json="}, "--json"},
		{"json in place of a folder", []string{"--model", llama, "--prompt", "x", "--json", folder}, "is a folder"},
		{"json in no folder", []string{"--model", llama, "--prompt", "x", "--json", "nowhere/x.json"}, "--json"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, stdout, stderr := llmgen(t, "", c.args...)
			assert.Equal(t, exitRefused, status, stderr)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, c.says)
			assert.NotContains(t, stderr, "goroutine")
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			assert.Contains(t, lines[len(lines)-1], "llmgen: ")
		})
	}
}

func TestHelpShowsAnExample(t *testing.T) {
	status, stdout, _ := llmgen(t, "", "--help")
	assert.Equal(t, exitDone, status)
	for _, want := range []string{"Examples:", "--model", "--json", "130"} {
		assert.Contains(t, stdout, want)
	}
}

func TestAWriteErrorEndsTheRun(t *testing.T) {
	var stderr bytes.Buffer
	status := Main(t.Context(), []string{"--model", model("llama"), "--prompt", question}, strings.NewReader(""), full{}, &stderr)
	assert.Equal(t, exitRefused, status)
	assert.Contains(t, stderr.String(), "disk full")
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestFiltersWithoutATemperatureAreNoted(t *testing.T) {
	_, _, stderr := llmgen(t, "", "--model", model("llama"), "--prompt", question, "--top-k", "5", "--tokens", "1")
	assert.Contains(t, stderr, "--top-k changes nothing")
}

func TestValuesThatLookLikeFlagsStayValues(t *testing.T) {
	args := []string{"--prompt", "--json", "--json", "out.json", "--tokens=-1", "--", "--json", "x"}
	want := []string{"--prompt", "--json", "--json=out.json", "--tokens=-1", "--", "--json", "x"}
	assert.Equal(t, want, joinJSON(args))
	assert.Equal(t, []string{"--json=-"}, joinJSON([]string{"--json", "-"}))
	assert.Equal(t, []string{"--json", "--chat"}, joinJSON([]string{"--json", "--chat"}))
}

func TestATemplateThatWritesNothingIsAnEmptyPrompt(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(model("llama"))))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte("{% if false %}x{% endif %}"), 0o600))
	status, stdout, stderr := llmgen(t, "", "--model", dir, "--prompt", "x")
	assert.Equal(t, exitRefused, status)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "the prompt is empty")
}

func TestAContextThatIsNoMultipleOfATileIsNotExceeded(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(model("llama"))))
	config := must(os.ReadFile(filepath.Join(dir, "config.json")))
	config = bytes.Replace(config, []byte(`"max_position_embeddings": 512`), []byte(`"max_position_embeddings": 20`), 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), config, 0o600))
	r := generated(t, "--model", dir, "--ids", "504,411,298", "--tokens", "-1")
	assert.LessOrEqual(t, len(r.PromptIDs)+len(r.IDs), 21, "20 fed, and one that is not")
	status, _, stderr := llmgen(t, "", "--model", dir, "--ids", strings.Repeat("1,", 21)+"1")
	assert.Equal(t, exitRefused, status)
	assert.Contains(t, stderr, "the context 20 positions")
}
