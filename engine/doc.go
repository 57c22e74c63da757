// Package engine runs decoder-only language models: Open gives a Model, a Model
// gives Sessions, a Session is fed token ids and gives logits. It is the system
// under test of this project and its public library. It must not know of
// gates, oracles or evidence, and nothing in it knows an instruction set.
package engine
