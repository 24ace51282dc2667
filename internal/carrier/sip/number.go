package sip

import (
	"strings"

	"github.com/emiago/sipgo/sip"

	"github.com/callwright/callwright/internal/phone"
)

// readNumber makes E.164 of what trunks write: with +, with 00, with the country code alone, or as people of home's
// country dial it. home is a number of the trunk's, "" when it has none. Anything else comes back as it is.
func readNumber(text, home string) (number string, ok bool) {
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-.() ", r) {
			return -1
		}
		return r
	}, text)
	digits = strings.Replace(digits, "%2B", "+", 1)
	international := false
	for _, prefix := range []string{"+", "00"} {
		if rest, has := strings.CutPrefix(digits, prefix); has && !international {
			digits, international = rest, true
		}
	}
	if len(digits) < 7 || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return text, false
	}
	national := func() (string, error) { return phone.Normalize(digits, phone.Region(home)) }
	var err error
	switch {
	case international:
		number, err = phone.Parse("+" + digits)
	case digits[0] == '0':
		number, err = national()
	case strings.HasPrefix(home, "+1") && len(digits) == 10:
		number, err = phone.Parse("+1" + digits)
	default:
		number, err = phone.Parse("+" + digits)
		if err == nil && phone.KindOf(number) != phone.KindUnknown {
			break
		}
		if n, e := national(); e == nil && (err != nil || phone.KindOf(n) != phone.KindUnknown) {
			number, err = n, nil
		}
	}
	if err != nil {
		return text, false
	}
	return number, true
}

// numberOf reads the number of a SIP or tel address.
func numberOf(u sip.Uri, home string) (string, bool) {
	text := u.User
	if raw := u.Raw(); raw != "" && u.Scheme == "tel" {
		text = raw
	}
	text, _, _ = strings.Cut(text, ";")
	return readNumber(text, home)
}

// calledNumber is whom an INVITE is for: the request's address, else the To header's, else the trunk's only number.
func calledNumber(req *sip.Request, t *trunk) string {
	if n, ok := numberOf(req.Recipient, t.From); ok {
		return n
	}
	if n, ok := numberOf(req.To().Address, t.From); ok {
		return n
	}
	if t.From != "" && (t.User != "" && req.Recipient.User == t.User || req.Recipient.User == "") {
		return t.From
	}
	return req.Recipient.User
}

// callerNumber is who calls: what the trunk asserts, else From; "" when it does not want to be known.
func callerNumber(req *sip.Request, t *trunk) string {
	for _, h := range req.GetHeaders("P-Asserted-Identity") {
		var u sip.Uri
		value := h.Value()
		if i := strings.IndexByte(value, '<'); i >= 0 {
			value, _, _ = strings.Cut(value[i+1:], ">")
		}
		if sip.ParseUri(value, &u) != nil {
			continue
		}
		if n, ok := numberOf(u, t.From); ok {
			return n
		}
	}
	n, _ := numberOf(req.From().Address, t.From)
	if strings.EqualFold(n, "anonymous") {
		return ""
	}
	return n
}

// dialed is a number as the trunk wants it.
func (t *trunk) dialed(number string) string {
	if t.NoPlus {
		return strings.TrimPrefix(number, "+")
	}
	return number
}
