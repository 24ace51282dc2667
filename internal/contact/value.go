package contact

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/relvacode/iso8601"
)

// Type is what a custom field holds. CONTRACT.md §2, Contacts.
type Type string

// The types.
const (
	TypeText        Type = "text"
	TypeNumber      Type = "number"
	TypeBoolean     Type = "boolean"
	TypeDate        Type = "date"
	TypeSelect      Type = "select"
	TypeMultiSelect Type = "multi_select"
	TypeURL         Type = "url"
	TypeEmail       Type = "email"
)

// types in the order of the contract.
var types = []Type{TypeText, TypeNumber, TypeBoolean, TypeDate, TypeSelect, TypeMultiSelect, TypeURL, TypeEmail}

// Most characters of a value whose definition sets no max_length.
var longest = map[Type]int{TypeText: 5000, TypeURL: 2048, TypeEmail: 254}

// Code says why an entry of custom_fields was dropped. spec: Contact, custom_field_warnings entry.
type Code string

// The codes.
const (
	UnknownKey    Code = "unknown_key"
	ArchivedKey   Code = "archived_key"
	ReservedKey   Code = "reserved_key"
	TypeMismatch  Code = "type_mismatch"
	OptionInvalid Code = "option_invalid"
	TooLong       Code = "too_long"
	EmptyValue    Code = "empty_value"
)

// Warning is an entry of custom_fields that was dropped.
type Warning struct {
	Key     string
	Code    Code
	Message string
}

// definition is what a value is held against.
type definition struct {
	typ      Type
	options  []string
	longest  int
	archived bool
}

// problem is why a value does not fit; the zero value says that it does.
type problem struct {
	code    Code
	message string
}

// normalise checks a value and gives it its stored form: text is kept as sent, addresses and choices are trimmed, dates
// are YYYY-MM-DD, repeated choices are kept once. Numbers keep their digits.
func (d definition) normalise(raw json.RawMessage) (json.RawMessage, problem) {
	switch d.typ {
	case TypeNumber:
		return sameIf(raw, isNumber(raw), "must be a number")
	case TypeBoolean:
		return sameIf(raw, string(raw) == "true" || string(raw) == "false", "must be true or false")
	case TypeMultiSelect:
		return d.choices(raw)
	}
	var text string
	if json.Unmarshal(raw, &text) != nil || raw[0] != '"' {
		return nil, problem{TypeMismatch, "must be a string"}
	}
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil, problem{EmptyValue, "is empty; send null to take a value away"}
	}
	switch d.typ {
	case TypeText:
		trimmed = text
	case TypeDate:
		day, err := iso8601.ParseString(trimmed)
		if err != nil {
			return nil, problem{TypeMismatch, "must be an ISO 8601 date"}
		}
		trimmed = day.Format("2006-01-02")
	case TypeSelect:
		if !slices.Contains(d.options, trimmed) {
			return nil, problem{OptionInvalid, "must be one of the field's options"}
		}
	case TypeURL:
		if u, err := url.Parse(trimmed); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
			return nil, problem{TypeMismatch, "must be an http or https address"}
		}
	case TypeEmail:
		if !isEmail(trimmed) {
			return nil, problem{TypeMismatch, "must be an e-mail address"}
		}
	}
	if d.longest > 0 && utf8.RuneCountInString(trimmed) > d.longest {
		return nil, problem{TooLong, fmt.Sprintf("must have at most %d characters", d.longest)}
	}
	return encode(trimmed), problem{}
}

func (d definition) choices(raw json.RawMessage) (json.RawMessage, problem) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || raw[0] != '[' {
		return nil, problem{TypeMismatch, "must be a list of strings"}
	}
	if len(list) == 0 {
		return nil, problem{EmptyValue, "is empty; send null to take a value away"}
	}
	chosen := make([]string, 0, len(list))
	for _, item := range list {
		var text string
		if json.Unmarshal(item, &text) != nil || item[0] != '"' {
			return nil, problem{TypeMismatch, "must be a list of strings"}
		}
		text = strings.TrimSpace(text)
		if !slices.Contains(d.options, text) {
			return nil, problem{OptionInvalid, "must be chosen from the field's options"}
		}
		if !slices.Contains(chosen, text) {
			chosen = append(chosen, text)
		}
	}
	return encode(chosen), problem{}
}

func sameIf(raw json.RawMessage, fits bool, message string) (json.RawMessage, problem) {
	if fits {
		return raw, problem{}
	}
	if string(raw) == `""` || string(raw) == "[]" {
		return nil, problem{EmptyValue, "is empty; send null to take a value away"}
	}
	return nil, problem{TypeMismatch, message}
}

// isNumber reports whether the JSON value is a number; valid JSON that starts like one is one.
func isNumber(raw json.RawMessage) bool {
	return raw[0] == '-' || (raw[0] >= '0' && raw[0] <= '9')
}

// isEmail accepts a bare address: no display name, one domain.
func isEmail(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text && !strings.HasPrefix(text, "<")
}

// encode writes JSON as people wrote the text: no HTML escapes.
func encode(v any) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("contact: encode %T: %v", v, err)) // strings and lists of strings only
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
