package inspect

import (
	"context"
	"fmt"

	"assay/engine"
	"assay/engine/checkpoint"
)

// openEngine opens path as users do. A tokenizer that cannot be used is told,
// but the model runs on token ids all the same.
func openEngine(path string) (string, any, error) {
	m, err := engine.Open(context.Background(), path, engine.Options{})
	if err != nil {
		return "", nil, err
	}
	defer m.Close()
	text := Describe(m.Config())
	for _, note := range m.Config().Notes {
		text += "; " + note
	}
	if _, err := m.Tokenizer(); err != nil {
		text += fmt.Sprintf("; its tokenizer cannot be used, only token ids: %v", err)
	}
	return text, m.Config(), nil
}

// Describe puts a config in a few words.
func Describe(c *checkpoint.Config) string {
	head := "own head"
	if c.TiedHead {
		head = "tied head"
	}
	return fmt.Sprintf("%s, %d layers, hidden %d, %d heads of %d (%d for K/V), feed-forward %d, vocabulary %d, context %d, %s",
		c.Family, c.Layers, c.Hidden, c.Heads, c.HeadDim, c.KVHeads, c.FFN, c.Vocab, c.Context, head)
}
