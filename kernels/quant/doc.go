// Package quant knows the block formats in which weights are stored: their
// sizes, their exact decoding, and the repacking of rows into the tiles that
// the products read. It must not know of files, models or threads.
package quant
