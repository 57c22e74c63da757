// Package assay holds no code: the module is an LLM inference engine (package
// engine) inside the harness that holds it to other engines (cmd/validate).
// README.md shows both; the tests of this folder hold the rooms to their plan.
package assay
