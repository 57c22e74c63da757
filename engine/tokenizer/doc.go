// Package tokenizer turns text into token ids and back, and conversations into
// prompts. It reads Hugging Face tokenizer.json files and the vocabulary that a
// GGUF file carries in its metadata.
//
// A Tokenizer is a pipeline: added tokens are cut out of the text, the rest is
// normalised, split into words, each word becomes ids through the model (BPE or
// Unigram), and a template adds what the model wants around them. A part that
// this package does not know is refused by name when the tokenizer is opened,
// never skipped: a tokenizer that is nearly right gives text that is quietly
// wrong.
//
// Chat templates are rendered by a library, with the rules of white space, the
// string escapes, tojson, range and strftime_now done here. Known differences
// from jinja2 remain: none prints as nothing, 1.0 as 1, tuples as lists;
// split takes no limit; % does not format; integers end at 64 bits. Truncation
// and padding that a tokenizer.json may carry are not applied, and decoding
// does not clean up spaces.
//
// It must not know of weights, sessions or sampling. Opening a model does not
// need a tokenizer, so a model whose tokenizer is not supported still runs on
// ids.
package tokenizer
