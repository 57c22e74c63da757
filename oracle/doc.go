// Package oracle keeps evidence: what another engine, or this one at another time, computed for given token ids. It loads
// recordings and refuses those that do not hold together, writes new ones, and compares logits, hidden states and key/value
// state with them at a stated rung.
//
// A recording is a directory in the format assay-evidence/1: manifest.yaml says who computed what, on which checkpoint and for
// which prompts; evidence.safetensors holds the numbers. Evidence is teacher-forced: the recorded ids are fed, whatever the
// engine under test would have chosen, and row i is compared after feeding id i.
//
// The package must not know the engine: it sees numbers only. Whoever replays a recording feeds the rows of the engine to a
// RowComparer and its states to CompareState; Diagnose then names the first tensor that diverges and what usually causes it.
package oracle
