package identity

import (
	"encoding/json"
	"net/mail"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callwright/callwright/internal/phone"
)

// maxPrefill is the longest prefill value in characters. spec: Pairing, prefill.
const maxPrefill = 128

// fragment makes the fragment of the complete verification address from a prefill of any JSON shape: URL-encoded
// key=value pairs, none for what is absent, of another type, too long or invalid. What it is given is in nobody's memory
// when it returns: nothing is stored, logged or put into an error (spec: Pairing, prefill).
func fragment(prefill json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(prefill, &members) != nil {
		return ""
	}
	first, last := prefillName(members)
	var pairs []string
	add := func(key, value string) {
		if value != "" {
			// %20 is a space to every decoder, + only to those of forms.
			pairs = append(pairs, key+"="+strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
		}
	}
	add("email", prefillEmail(members))
	add("first_name", first)
	add("last_name", last)
	add("phone", prefillPhone(members))
	return strings.Join(pairs, "&")
}

// prefillText is a member's text: empty when there is none that could be used.
func prefillText(members map[string]json.RawMessage, name string) string {
	var s *string
	if json.Unmarshal(members[name], &s) != nil || s == nil || utf8.RuneCountInString(*s) > maxPrefill {
		return ""
	}
	if strings.ContainsFunc(*s, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
		return ""
	}
	return strings.TrimSpace(*s)
}

// prefillName takes the full name, split at its first space, only when both parts are absent.
func prefillName(members map[string]json.RawMessage) (first, last string) {
	if given(members, "first_name") || given(members, "last_name") {
		return prefillText(members, "first_name"), prefillText(members, "last_name")
	}
	first, last, _ = strings.Cut(prefillText(members, "name"), " ")
	return first, strings.TrimSpace(last)
}

// given tells whether a client said something in a member, valid or not.
func given(members map[string]json.RawMessage, name string) bool {
	switch string(members[name]) {
	case "", "null", `""`:
		return false
	}
	return true
}

func prefillEmail(members map[string]json.RawMessage) string {
	s := prefillText(members, "email")
	if a, err := mail.ParseAddress(s); err != nil || a.Address != s {
		return ""
	}
	return s
}

func prefillPhone(members map[string]json.RawMessage) string {
	number, err := phone.Normalize(prefillText(members, "phone"), "US")
	if err != nil {
		return ""
	}
	return number
}
