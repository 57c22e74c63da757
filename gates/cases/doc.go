// Package cases runs cases that are data: a file, what opening it must lead to,
// and why. It reads any folder in the format of testdata/README.md, so a case is
// added by dropping a file beside a cases.yaml and describing it there.
//
//	go test ./gates/cases                      # the project's own folder, testdata
//	go test ./gates/cases -args -cases DIR     # any other
//
// Containers are judged by their readers, models and tokenizers through hooks.
// The package must not know how any of them works: only what they must say.
package cases
