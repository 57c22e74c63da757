// Package fault is the error that every reader of weight files returns: which
// format, file, item and byte, and what is wrong with it. It knows no format.
package fault
