package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds the nesting of arrays and objects in what clients send.
const maxDepth = 100

// check accepts exactly one JSON text in UTF-8 whose strings and keys hold neither NUL nor half a surrogate pair, neither
// of which a database can store. Everything that reads JSON below relies on it. The error is for clients.
func check(b []byte) error {
	if !utf8.Valid(b) {
		return errors.New("must be valid UTF-8")
	}
	if !json.Valid(b) {
		return fmt.Errorf("is not valid JSON: %s", syntaxError(b))
	}
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '{' || c == '['):
			if depth++; depth > maxDepth {
				return fmt.Errorf("is nested more than %d levels deep", maxDepth)
			}
		case !quoted && (c == '}' || c == ']'):
			depth--
		case c == '\\':
			i++
			if b[i] != 'u' {
				continue
			}
			r, n := escaped(b[i-1:])
			if r == 0 || r == utf8.RuneError && n == 0 {
				return errors.New("must not contain NUL characters or lone surrogates")
			}
			i += n - 2
		}
	}
	return nil
}

// escaped reads a \uXXXX, or two that are a surrogate pair; 0 bytes for half a pair.
func escaped(b []byte) (r rune, n int) {
	one, _ := strconv.ParseUint(string(b[2:6]), 16, 32)
	if !utf16.IsSurrogate(rune(one)) {
		return rune(one), 6
	}
	if len(b) < 12 || b[6] != '\\' || b[7] != 'u' {
		return utf8.RuneError, 0
	}
	two, err := strconv.ParseUint(string(b[8:12]), 16, 32)
	if r = utf16.DecodeRune(rune(one), rune(two)); err != nil || r == utf8.RuneError {
		return utf8.RuneError, 0
	}
	return r, 12
}

func syntaxError(b []byte) string {
	var raw json.RawMessage
	err := json.Unmarshal(b, &raw)
	var se *json.SyntaxError
	if errors.As(err, &se) {
		return fmt.Sprintf("%s (at byte %d)", se.Error(), se.Offset)
	}
	return "it can not be read"
}

// cursor walks JSON that check has accepted.
type cursor struct {
	b []byte
	i int
}

// peek skips white space and tells the next byte: one of { } [ ] : , " t f n or the start of a number; 0 at the end.
func (c *cursor) peek() byte {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return c.b[c.i]
		}
	}
	return 0
}

// more steps to the next item of an array or object and is false behind the last one.
func (c *cursor) more(end byte) bool {
	switch c.peek() {
	case end:
		c.i++
		return false
	case ',':
		c.i++
	}
	return true
}

// key reads a member's name and the colon.
func (c *cursor) key() string {
	s := c.text()
	c.peek()
	c.i++
	return s
}

// text reads a string.
func (c *cursor) text() string {
	raw := c.skip()
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // checked
	return s
}

// skip steps over a value and returns its bytes.
func (c *cursor) skip() []byte {
	first := c.peek()
	start := c.i
	switch first {
	case '"':
		c.quoted()
	case '{', '[':
		depth := 0
		for {
			switch c.b[c.i] {
			case '"':
				c.quoted()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			c.i++
			if depth == 0 {
				return c.b[start:c.i]
			}
		}
	default:
		for c.i < len(c.b) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(c.b[c.i])) {
			c.i++
		}
	}
	return c.b[start:c.i]
}

// quoted steps over a string.
func (c *cursor) quoted() {
	for c.i++; c.b[c.i] != '"'; c.i++ {
		if c.b[c.i] == '\\' {
			c.i++
		}
	}
	c.i++
}
