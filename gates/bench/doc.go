// Package bench times complete phases of the engine on a model: load, prepare,
// prompt, boundary, decode and restore, each with its exact count of tokens, and
// optionally those of another engine on the same file, threads and token ids.
//
// A sample is one opening of the model and one fresh session. In a run of its own
// each sample is a fresh process (so load and prepare get a time per sample, and
// the peak of resident memory is that of one engine alone); the small benchmark of
// the gates takes its samples in the calling process. Both engines first evaluate
// the whole prompt once, untimed. Samples are interleaved A B B A. The ids are fed
// whatever the engines would choose; a checksum of our logits is taken outside of
// the timed parts, and samples that disagree make the timing void.
//
// The times come from inside the engines: the package decides what is run, never
// holds the watch itself, and does not render anything.
package bench
