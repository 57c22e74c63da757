// Package parity replays evidence on the engine, teacher-forced, and compares
// what comes out: logits row by row, hidden states, keys and values. It knows
// both the engine and the recordings; it decides nothing about gates.
package parity
