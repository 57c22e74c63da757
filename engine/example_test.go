package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"assay/engine"
	"assay/engine/sample"
	"assay/engine/tokenizer"
	"assay/fixtures"
)

// A question, put in the words of the model's chat template, and its answer.
func Example() {
	dir, err := os.MkdirTemp("", "models")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := fixtures.Materialise(dir); err != nil { // any GGUF file or Hugging Face folder will do
		log.Fatal(err)
	}
	text, err := answer(context.Background(), filepath.Join(dir, "models", "llama-Q8_0.gguf"), "What is the capital of France?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output: The capital of France is Paris.
}

func answer(ctx context.Context, path, question string) (string, error) {
	model, err := engine.Open(ctx, path, engine.Options{})
	if err != nil {
		return "", err
	}
	defer model.Close()
	tok, err := model.Tokenizer()
	if err != nil {
		return "", err
	}
	chat := []tokenizer.Message{{Role: "user", Content: question}}
	prompt, err := tok.RenderChat(chat, tokenizer.ChatOptions{AddGenerationPrompt: true})
	if err != nil {
		return "", err
	}
	ids, err := tok.Encode(prompt, tokenizer.EncodeOptions{ParseSpecial: true})
	if err != nil {
		return "", err
	}

	session, err := model.NewSession(engine.SessionOptions{})
	if err != nil {
		return "", err
	}
	defer session.Close()
	if err := session.Prefill(ctx, ids); err != nil {
		return "", err
	}
	var text string
	stream := tok.NewStream(true)
	for range 100 {
		id, err := sample.Greedy(session.Logits())
		if err != nil {
			return "", err
		}
		if tok.IsEOS(id) {
			break
		}
		text += stream.Push(id)
		if err := session.Decode(ctx, id); err != nil {
			return "", err
		}
	}
	return text + stream.Flush(), nil
}

// A snapshot of a session brings its state back without evaluating again.
func ExampleSession_Restore() {
	dir, err := os.MkdirTemp("", "models")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := fixtures.Materialise(dir); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	model, err := engine.Open(ctx, filepath.Join(dir, "models", "llama"), engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(engine.SessionOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := session.Prefill(ctx, []int32{1, 2, 3}); err != nil {
		log.Fatal(err)
	}
	snapshot := session.Checkpoint()
	if err := session.Decode(ctx, 4); err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.Position())
	if err := session.Restore(snapshot); err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.Position())
	// Output:
	// 4
	// 3
}
