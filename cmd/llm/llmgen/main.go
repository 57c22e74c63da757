// Command llmgen generates text with a model file or folder. It is the thin
// main of cmd/llm/internal/generate and must not know more than that.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"assay/cmd/llm/internal/generate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends the text, a second one the process
	os.Exit(generate.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
