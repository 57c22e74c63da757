package tokenizer

import "slices"

// endOfTurn lists the control tokens with which known model families end a turn
// or a text. Files name only one or two of theirs; generation must stop at each.
var endOfTurn = []string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|endoftext|>", "<|end|>",
	"<end_of_turn>", "<turn|>", "<|return|>", "<|call|>", "<EOT>", "<|eot|>", "<|end_of_turn|>", "<end_of_utterance>",
}

// addEndOfTurn adds the ids that end a turn: those given, and special tokens
// known to do so.
func (t *Tokenizer) addEndOfTurn(ids ...int32) {
	for _, id := range ids {
		if t.vocabulary.has(id) {
			t.eos = append(t.eos, id)
		}
	}
	for _, text := range endOfTurn {
		if id, ok := t.vocabulary.id(text); ok && t.special[id] {
			t.eos = append(t.eos, id)
		}
	}
	slices.Sort(t.eos)
	t.eos = slices.Compact(t.eos)
}
