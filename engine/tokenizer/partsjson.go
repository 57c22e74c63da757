package tokenizer

import (
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// parseNormalizer reads the "normalizer" part; nil where there is none.
func parseNormalizer(raw json.RawMessage, field string) (normalizer, error) {
	return parseNormalizerAt(raw, field, 0)
}

func parseNormalizerAt(raw json.RawMessage, field string, depth int) (normalizer, error) {
	p, err := parsePart(raw, field)
	if p == nil || err != nil {
		return nil, err
	}
	switch p.Type {
	case "NFC":
		return formNormalizer(norm.NFC), nil
	case "NFD":
		return formNormalizer(norm.NFD), nil
	case "NFKC":
		return formNormalizer(norm.NFKC), nil
	case "NFKD":
		return formNormalizer(norm.NFKD), nil
	case "Lowercase":
		return lowercase{}, nil
	case "Strip":
		return stripNormalizer{p.StripLeft, p.StripRight}, nil
	case "Prepend":
		return prependNormalizer(p.Prepend), nil
	case "Replace":
		pattern, err := p.Pattern.build(field)
		if err != nil {
			return nil, err
		}
		return replaceNormalizer{pattern, p.Content}, nil
	case "Sequence":
		if depth >= maxNesting {
			return nil, fieldError(field, "sequences are nested deeper than %d", maxNesting)
		}
		var s sequenceNormalizer
		for i, raw := range p.Normalizers {
			n, err := parseNormalizerAt(raw, fmt.Sprintf("%s.normalizers[%d]", field, i), depth+1)
			if err != nil {
				return nil, err
			}
			if n != nil {
				s = append(s, n)
			}
		}
		return s, nil
	}
	return nil, unsupported(field, p.Type)
}

// parsePreTokenizer reads the "pre_tokenizer" part. byteLevel tells whether the
// words then go to the model in the byte-level alphabet.
func parsePreTokenizer(raw json.RawMessage) (s splitter, byteLevel bool, err error) {
	var steps sequenceSplit
	if steps, byteLevel, err = parseSplitters(steps, false, raw, "pre_tokenizer", 0); err != nil || len(steps) == 0 {
		return nil, byteLevel, err
	}
	return steps, byteLevel, nil
}

func parseSplitters(steps sequenceSplit, byteLevel bool, raw json.RawMessage, field string, depth int) (sequenceSplit, bool, error) {
	p, err := parsePart(raw, field)
	if p == nil || err != nil {
		return steps, byteLevel, err
	}
	if byteLevel {
		return nil, false, fieldError(field, "type %q after ByteLevel is not supported", p.Type)
	}
	switch p.Type {
	case "Sequence":
		if depth >= maxNesting {
			return nil, false, fieldError(field, "sequences are nested deeper than %d", maxNesting)
		}
		for i, raw := range p.PreTokenizers {
			steps, byteLevel, err = parseSplitters(steps, byteLevel, raw, fmt.Sprintf("%s.pretokenizers[%d]", field, i), depth+1)
			if err != nil {
				return nil, false, err
			}
		}
		return steps, byteLevel, nil
	case "ByteLevel":
		var s splitter
		if p.UseRegex == nil || *p.UseRegex {
			s = scanSplit{knownPatterns[patternGPT2]}
		}
		if p.AddPrefixSpace == nil || *p.AddPrefixSpace {
			s = prefixSpace{s}
		}
		if s != nil {
			steps = append(steps, s)
		}
		return steps, true, nil
	}
	s, err := parseSplitter(p, field)
	return append(steps, s), false, err
}

func parseSplitter(p *part, field string) (splitter, error) {
	behave := p.Behavior
	if behave == "" {
		behave = isolated
	}
	if !behave.known() {
		return nil, fieldError(field+".behavior", "%q is not supported", p.Behavior)
	}
	switch p.Type {
	case "Split":
		if p.Pattern.Regex != nil && behave == isolated && !p.Invert {
			if s, ok := knownPatterns[*p.Pattern.Regex]; ok {
				return scanSplit{s}, nil
			}
		}
		pattern, err := p.Pattern.build(field)
		return patternSplit{pattern, p.Invert, behave}, err
	case "Digits":
		if p.IndividualDigits {
			return patternSplit{funcPattern(unicode.IsNumber), false, isolated}, nil
		}
		return patternSplit{funcPattern(unicode.IsNumber), false, contiguous}, nil
	case "Punctuation":
		return patternSplit{funcPattern(isPunctuation), false, behave}, nil
	case "Whitespace":
		return wordSplit{}, nil
	case "WhitespaceSplit":
		return patternSplit{funcPattern(unicode.IsSpace), false, removed}, nil
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(p.Delimiter) != 1 {
			return nil, fieldError(field+".delimiter", "%q is not one character", p.Delimiter)
		}
		return patternSplit{literalPattern(p.Delimiter), false, removed}, nil
	case "Metaspace":
		return p.metaspace(field)
	}
	return nil, unsupported(field, p.Type)
}

func (p *part) metaspace(field string) (metaspaceSplit, error) {
	s := metaspaceSplit{replacement: p.Replacement, prepend: p.PrependScheme, cut: p.Split == nil || *p.Split}
	if utf8.RuneCountInString(s.replacement) != 1 {
		return s, fieldError(field+".replacement", "%q is not one character", p.Replacement)
	}
	switch s.prepend {
	case "always", "first", "never":
	case "":
		// Older files say it so.
		s.prepend = "always"
		if p.AddPrefixSpace != nil && !*p.AddPrefixSpace {
			s.prepend = "never"
		}
	default:
		return s, fieldError(field+".prepend_scheme", "%q is not supported", s.prepend)
	}
	return s, nil
}

// parseDecoder reads the "decoder" part.
func parseDecoder(raw json.RawMessage, field string) (decoder, error) {
	p, err := parsePart(raw, field)
	if err != nil {
		return decoder{}, err
	}
	if p == nil {
		return decoder{spaced: true}, nil
	}
	var d decoder
	parts, fields, err := flattenDecoders(nil, nil, p, field, 0)
	if err != nil {
		return d, err
	}
	fused := false
	for i, p := range parts {
		if err := d.add(p, fields[i], len(parts), &fused); err != nil {
			return d, err
		}
	}
	return d, nil
}

func flattenDecoders(parts []*part, fields []string, p *part, field string, depth int) ([]*part, []string, error) {
	if p.Type != "Sequence" {
		return append(parts, p), append(fields, field), nil
	}
	if depth >= maxNesting {
		return nil, nil, fieldError(field, "sequences are nested deeper than %d", maxNesting)
	}
	for i, raw := range p.Decoders {
		inner := fmt.Sprintf("%s.decoders[%d]", field, i)
		q, err := parsePart(raw, inner)
		if err != nil {
			return nil, nil, err
		}
		if q == nil {
			continue
		}
		if parts, fields, err = flattenDecoders(parts, fields, q, inner, depth+1); err != nil {
			return nil, nil, err
		}
	}
	return parts, fields, nil
}

// maxGrowth bounds what the replacements of a decoder make of a token.
const maxGrowth = 1 << 8

// add appends one step. fused tells whether the tokens are one text already.
func (d *decoder) add(p *part, field string, steps int, fused *bool) error {
	switch {
	case p.Type == "ByteLevel" && steps == 1:
		d.byteLevel = true
	case p.Type == "Fuse":
		*fused = true
	case p.Type == "ByteFallback" && !*fused:
		d.byteFallback = true
	case p.Type == "Replace" && p.Pattern.String != nil && *p.Pattern.String != "":
		d.growth = max(1, d.growth) * (1 + len(p.Content)/len(*p.Pattern.String))
		if d.growth > maxGrowth {
			return fieldError(field, "replacements make tokens more than %d times longer", maxGrowth)
		}
		d.steps = append(d.steps, replaceStep(*p.Pattern.String, p.Content))
	case p.Type == "Metaspace" && !*fused:
		s, err := p.metaspace(field)
		if err != nil {
			return err
		}
		d.steps = append(d.steps, metaspaceStep(s.replacement, s.prepend != "never"))
	case p.Type == "Strip" && *fused && p.Stop == 0 && p.Content != "" && d.stripCount == 0:
		d.stripLeft, d.stripCount = p.Content, p.Start
	default:
		return fieldError(field, "type %q is not supported here", p.Type)
	}
	return nil
}
