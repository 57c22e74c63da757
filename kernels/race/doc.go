// Package race tells the race detector what assembly reads and writes, which it
// cannot see by itself. Without the detector the calls are nothing. It must not
// be used for memory that Go code already touches visibly.
package race
