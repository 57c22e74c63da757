// Package checkpoint turns any weight file that the engine reads into the same
// thing: one validated Config and named, typed tensors under canonical names
// (those of GGUF). Containers are read by its sub-packages; this package knows
// model families and their files, and must not know how a model computes, what
// a token is, or which CPU runs it.
package checkpoint
