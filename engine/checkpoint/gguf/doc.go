// Package gguf reads the GGUF container, versions 2 and 3: metadata, tensor
// records and the raw bytes of each tensor. It judges the container alone and
// must not know what a model is: no key has a meaning here except
// general.alignment, and no tensor name has any.
//
// Nothing is allocated by a claimed size. Every count, length, offset and
// product is held against the size of the file first, so that a damaged file
// costs an error and no more. Each refusal is a *fault.Error.
package gguf
