// Package regular opens and reads the files of a model: regular files alone,
// whole, up to a size that the caller names. A pipe would block whoever opens
// it, and a device has no end. It must not know what the bytes mean.
package regular
