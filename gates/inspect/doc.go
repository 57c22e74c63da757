// Package inspect tells what a weight file or model folder holds: metadata,
// tensors, formats, bytes, tokenizer. It judges the container alone; whether the
// engine can run it is asked separately, of whatever Options.OpenModel opens.
// The package must not know how models compute or tokenizers work.
package inspect
