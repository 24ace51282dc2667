package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callwright/callwright/internal/fault"
)

// Bounds of metadata. Deeper or larger values could be stored, but not be searched on both databases.
const (
	maxMetadata = 4096
	maxNesting  = 100
)

// checkMetadata returns the text of the metadata as it is stored and given back: as it came in (CONTRACT.md §1). It must
// be a JSON object of up to 4 KB without what one of the databases could not look into: NUL characters, half surrogates,
// the same member twice, numbers beyond a double.
func checkMetadata(text json.RawMessage) (string, error) {
	if len(text) == 0 {
		return "{}", nil
	}
	if len(text) > maxMetadata {
		return "", fault.Invalidf("metadata must be at most %d bytes as JSON, not %d", maxMetadata, len(text))
	}
	if !utf8.Valid(text) {
		return "", fault.Invalidf("metadata must be valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return "", fault.Invalidf("metadata must be a JSON object")
	}
	err := walkObject(dec, 1)
	if err == nil {
		if _, end := dec.Token(); end != io.EOF {
			err = errors.New("must be one JSON object")
		}
	}
	if err == nil && hasHalfSurrogate(string(text)) {
		err = errors.New("must be valid Unicode: it has half of a surrogate pair")
	}
	if err != nil {
		return "", fault.Invalidf("metadata %s", err)
	}
	return string(text), nil
}

var errNotJSON = errors.New("must be a JSON object")

func walkObject(dec *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return errNotJSON
		}
		name := key.(string)
		if strings.IndexByte(name, 0) >= 0 {
			return errors.New("must not contain a NUL character")
		}
		if seen[name] {
			return fmt.Errorf("has the member %q twice", name)
		}
		seen[name] = true
		if err := walkValue(dec, depth); err != nil {
			return err
		}
	}
	return closing(dec)
}

func walkArray(dec *json.Decoder, depth int) error {
	for dec.More() {
		if err := walkValue(dec, depth); err != nil {
			return err
		}
	}
	return closing(dec)
}

func closing(dec *json.Decoder) error {
	if _, err := dec.Token(); err != nil {
		return errNotJSON
	}
	return nil
}

func walkValue(dec *json.Decoder, depth int) error {
	t, err := dec.Token()
	if err != nil {
		return errNotJSON
	}
	switch t := t.(type) {
	case json.Delim:
		if depth == maxNesting {
			return fmt.Errorf("must be nested at most %d deep", maxNesting)
		}
		if t == '{' {
			return walkObject(dec, depth+1)
		}
		return walkArray(dec, depth+1)
	case string:
		if strings.IndexByte(t, 0) >= 0 {
			return errors.New("must not contain a NUL character")
		}
	case json.Number:
		return checkNumber(t.String())
	}
	return nil
}

// checkNumber refuses numbers that are no double: both databases compare as doubles, and PostgreSQL fails on these.
func checkNumber(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if err != nil || len(exponent) > 4 || f == 0 && strings.Trim(mantissa, "-0.") != "" {
		if len(s) > 40 {
			s = s[:40] + "…"
		}
		return fmt.Errorf("has a number out of range: %s", s)
	}
	return nil
}

// hasHalfSurrogate looks for \ud800–\udfff escapes without their other half, which Go reads as U+FFFD and PostgreSQL
// refuses. text is valid JSON.
func hasHalfSurrogate(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		switch unit := hex4(text[i+1 : i+5]); {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return true
		case unit >= 0xD800 && unit <= 0xDBFF:
			rest := text[i+5:]
			if !strings.HasPrefix(rest, `\u`) || len(rest) < 6 {
				return true
			}
			if low := hex4(rest[2:6]); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
		i += 4
	}
	return false
}

func hex4(s string) uint64 {
	n, _ := strconv.ParseUint(s, 16, 32)
	return n
}
