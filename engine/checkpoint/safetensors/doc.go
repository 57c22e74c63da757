// Package safetensors reads the safetensors container: one file, or shards
// behind a model.safetensors.index.json. It judges the container alone and must
// not know what a model is or which dtypes the engine computes with.
//
// Nothing is allocated by a claimed size: the header length is held against the
// file first, shapes and offsets against the data. The data must be covered
// exactly, without holes and without overlaps, as the format demands. Each
// refusal is a *fault.Error.
package safetensors
