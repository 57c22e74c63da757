// Package craft writes weight files for tests, right and wrong ones: it checks
// nothing. It must not use the readers that it tests.
package craft
