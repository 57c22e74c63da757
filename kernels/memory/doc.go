// Package memory hands out large zeroed blocks outside the Go heap, in huge
// pages where the system has them: weights and key/value state are streamed
// once per token, and 4 KB pages cost a tenth of the bandwidth. It must not
// know what is stored.
package memory
