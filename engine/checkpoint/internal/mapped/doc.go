// Package mapped gives a file's bytes without reading them first: a read-only
// memory map where the system has one, a copy of the file where it has not. It
// must not know what the bytes mean.
package mapped
