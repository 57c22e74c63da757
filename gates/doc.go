// Package gates says what must hold and finds out whether it does. A gate is a
// YAML definition: what runs, on which checkpoint, against which evidence, at
// which rung, with which tolerance and why. Run carries definitions out and
// gives a report of results; what the results look like on paper is for
// snapshots, and what the user typed is for gates/command.
package gates
