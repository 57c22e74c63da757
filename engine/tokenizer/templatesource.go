package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
)

// prepareTemplate rewrites a chat template so that the rules about white space
// are applied already: every piece of plain text becomes {{ "text" }}, comments
// go. Models are trained on text rendered with trim_blocks and lstrip_blocks on
// and the template's last line end off, and one line end too many makes other
// ids, so these rules are not left to the template library. Line numbers stay.
func prepareTemplate(source string) (string, error) {
	if len(source) > maxTemplate {
		return "", fmt.Errorf("%d bytes are more than the %d that are allowed", len(source), maxTemplate)
	}
	source = strings.ReplaceAll(validText(source), "\r\n", "\n")
	source = strings.ReplaceAll(source, "\r", "\n")
	source = strings.TrimSuffix(source, "\n")
	p := templateReader{source: source, lineStart: true}
	for p.pos < len(source) {
		if err := p.next(); err != nil {
			return "", fmt.Errorf("line %d: %w", 1+strings.Count(source[:p.pos], "\n"), err)
		}
	}
	return p.out.String(), nil
}

// templateReader walks over a template.
type templateReader struct {
	source    string
	pos       int
	lineStart bool // the last tag's end took a line end along, or nothing came before
	out       strings.Builder
}

// next handles the text up to the next tag, and the tag.
func (p *templateReader) next() error {
	open := p.findTag(p.pos)
	text := p.source[p.pos:min(open, len(p.source))]
	if open >= len(p.source) {
		p.text(text)
		p.pos = len(p.source)
		return nil
	}
	kind, body := p.source[open+1], open+2
	sign := p.sign(body)
	if sign != 0 {
		body++
	}
	p.textBefore(text, kind, sign)
	p.pos = open
	if kind == '#' {
		end := strings.Index(p.source[body:], "#}")
		if end < 0 {
			return fmt.Errorf("comment is not closed")
		}
		end += body
		if end > body && p.sign(end-1) != 0 {
			end--
		}
		p.keepLines(p.source[body:end])
		p.finish(end, kind)
		return nil
	}
	content, end, err := readTag(p.source, body, kind)
	if err != nil {
		return err
	}
	if kind == '%' && strings.TrimSpace(content) == "raw" {
		p.keepLines(content)
		return p.raw(end)
	}
	before, behind := metered(content, kind)
	p.out.WriteString(before + "{" + string(kind) + " " + content + " " + closing(kind) + behind)
	p.finish(end, kind)
	return nil
}

func closing(kind byte) string {
	if kind == '{' {
		return "}}"
	}
	return string(kind) + "}"
}

// findTag gives the place of the next {{ {% or {# from i on.
func (p *templateReader) findTag(i int) int {
	for ; i+1 < len(p.source); i++ {
		if p.source[i] == '{' && strings.IndexByte("{%#", p.source[i+1]) >= 0 {
			return i
		}
	}
	return len(p.source)
}

func (p *templateReader) sign(i int) byte {
	if i < len(p.source) && (p.source[i] == '-' || p.source[i] == '+') {
		return p.source[i]
	}
	return 0
}

const templateSpace = " \t\n\v\f\r"

// trimBefore takes off what the tag after the text takes off: all space with
// "-", else, before statements and comments, the indentation of their line.
func (p *templateReader) trimBefore(text string, kind, sign byte) string {
	switch {
	case sign == '-':
		return strings.TrimRight(text, templateSpace)
	case sign == '+' || kind == '{':
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || p.lineStart) && strings.Trim(text[line:], templateSpace) == "" {
		return text[:line]
	}
	return text
}

// finish moves behind the end of a tag: end is where its sign or its closing
// begins. "-" takes all space behind it, statements and comments one line end.
func (p *templateReader) finish(end int, kind byte) {
	sign := p.sign(end)
	if sign != 0 {
		end++
	}
	end += 2
	from := end
	switch {
	case sign == '-':
		end += len(p.source[end:]) - len(strings.TrimLeft(p.source[end:], templateSpace))
	case sign == 0 && kind != '{' && end < len(p.source) && p.source[end] == '\n':
		end++
	}
	p.keepLines(p.source[from:end])
	p.lineStart = end > 0 && p.source[end-1] == '\n'
	p.pos = end
}

// raw handles {% raw %} up to its end; end is where the tag's closing begins.
func (p *templateReader) raw(end int) error {
	sign := p.sign(end)
	if sign != 0 {
		end++
	}
	start := end + 2
	if sign == '-' {
		start += len(p.source[start:]) - len(strings.TrimLeft(p.source[start:], templateSpace))
	}
	p.keepLines(p.source[end:start])
	p.lineStart = p.source[start-1] == '\n'
	for i := start; ; i++ {
		n := strings.Index(p.source[i:], "{%")
		if n < 0 {
			return fmt.Errorf("raw is not closed")
		}
		i += n
		body := i + 2
		sign := p.sign(body)
		if sign != 0 {
			body++
		}
		content, end, err := readTag(p.source, body, '%')
		if err == nil && strings.TrimSpace(content) == "endraw" {
			p.textBefore(p.source[start:i], '%', sign)
			p.keepLines(content)
			p.finish(end, '%')
			return nil
		}
	}
}

// textBefore writes the text before a tag as the tag leaves it.
func (p *templateReader) textBefore(text string, kind, sign byte) {
	left := p.trimBefore(text, kind, sign)
	p.text(left)
	p.keepLines(text[len(left):])
}

// text writes plain text as an expression. Line ends stay as they are.
func (p *templateReader) text(s string) {
	if s == "" {
		return
	}
	p.out.WriteString("{{ ")
	writeString(&p.out, s)
	p.out.WriteString(" }}")
}

// lineEnd stands for a line end in a string that is to be written as an escape,
// so that the lines of the template stay as they are. It is no text that UTF-8
// can hold.
const lineEnd = "\xff\n"

// writeString writes a string literal that every reader takes alike.
func writeString(b *strings.Builder, s string) {
	b.WriteByte('"')
	b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`, lineEnd, `\n`).Replace(s))
	b.WriteByte('"')
}

// keepLines writes line ends that were taken off, inside a tag that does nothing.
func (p *templateReader) keepLines(s string) {
	if n := strings.Count(s, "\n"); n > 0 {
		p.out.WriteString("{#" + strings.Repeat("\n", n) + "#}")
	}
}

// readTag reads the inside of a {{ or {% tag from i on. It gives the content as
// the template library is to see it and where the closing, or its sign, begins.
// Brackets are followed, so that }} closing two objects does not end the tag.
func readTag(source string, i int, kind byte) (content string, end int, err error) {
	var b strings.Builder
	depth := 0
	close := closing(kind)
	for start := i; i < len(source); {
		if i-start > maxTag {
			return "", 0, fmt.Errorf("a tag has more than %d bytes", maxTag)
		}
		c := source[i]
		if depth == 0 {
			rest := source[i:]
			if strings.HasPrefix(rest, close) || (c == '-' || c == '+') && strings.HasPrefix(rest[1:], close) {
				return b.String(), i, nil
			}
		}
		n := 1
		switch {
		case c == '"' || c == '\'':
			if n = stringLength(source[i:]); n == 0 {
				return "", 0, fmt.Errorf("string is not closed")
			}
			literal := source[i+1 : i+n-1]
			writeString(&b, strings.ReplaceAll(unescape(literal), "\n", lineEnd))
			b.WriteString(strings.Repeat("\n", strings.Count(literal, "\n")))
			i += n
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case nameByte(c):
			for i+n < len(source) && nameByte(source[i+n]) {
				n++
			}
			if source[i:i+n] == "tojson" && strings.HasSuffix(strings.TrimRight(b.String(), templateSpace), "|") {
				b.WriteString(jsonFilter)
				i += n
				continue
			}
		case strings.IndexByte(templateSpace+".,:|~+-*/%<>=!", c) < 0:
			return "", 0, fmt.Errorf("unexpected character %q", c)
		case c == '!' && !strings.HasPrefix(source[i:], "!="):
			return "", 0, fmt.Errorf("unexpected character %q", c)
		}
		b.WriteString(source[i : i+n])
		i += n
		if c == '}' || c == '{' || c == '%' {
			b.WriteByte(' ') // keeps }} and {% inside a tag from being read as its end
		}
	}
	return "", 0, fmt.Errorf("tag is not closed")
}

func nameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// stringLength gives the bytes of the quoted string that s begins with; 0 where
// it is not closed.
func stringLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 0
}

// unescape reads the inside of a string literal as Python does.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if c, ok := simpleEscapes[s[i]]; ok {
			b.WriteString(c)
			continue
		}
		digits, base := 0, 16
		switch s[i] {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		}
		if s[i] >= '0' && s[i] <= '7' {
			digits, base = 1, 8
			for digits < 3 && i+digits < len(s) && s[i+digits] >= '0' && s[i+digits] <= '7' {
				digits++
			}
			i--
		}
		if digits > 0 && i+digits < len(s) {
			if r, err := strconv.ParseUint(s[i+1:i+1+digits], base, 32); err == nil {
				b.WriteRune(rune(r))
				i += digits
				continue
			}
		}
		b.WriteByte('\\')
		b.WriteByte(s[i])
	}
	return b.String()
}

var simpleEscapes = map[byte]string{
	'\n': "", '\\': "\\", '\'': "'", '"': "\"", 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}
