package sip

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/emiago/sipgo/sip"

	"github.com/callwright/callwright/internal/phone"
)

// message is a request or a response.
type message interface {
	sip.Message
	GetHeader(name string) sip.Header
}

// allowed are the methods that we understand.
const allowed = "INVITE, ACK, CANCEL, BYE, OPTIONS, UPDATE, INFO, NOTIFY"

// compacts are the short forms of headers that the stack gives us as they came.
var compacts = map[string]string{"supported": "k", "session-expires": "x", "content-type": "c", "event": "o"}

// header is the first value of a header; "" without it. name is in small letters.
func header(m message, name string) string {
	if h := m.GetHeader(name); h != nil {
		return strings.TrimSpace(h.Value())
	}
	if short := compacts[name]; short != "" {
		if h := m.GetHeader(short); h != nil {
			return strings.TrimSpace(h.Value())
		}
	}
	return ""
}

// lists reports whether a header such as Supported or Allow names token.
func lists(m message, name, token string) bool {
	for _, n := range []string{name, compacts[name]} {
		if n == "" {
			continue
		}
		for _, h := range m.GetHeaders(n) {
			for part := range strings.SplitSeq(h.Value(), ",") {
				if strings.EqualFold(strings.TrimSpace(part), token) {
					return true
				}
			}
		}
	}
	return false
}

// isSDP reports whether the body of a message is a description.
func isSDP(m message) bool {
	kind, _, _ := strings.Cut(header(m, "content-type"), ";")
	return len(m.Body()) > 0 && strings.EqualFold(strings.TrimSpace(kind), "application/sdp")
}

// setBody puts a body of a kind into a message.
func setBody(m message, kind string, body []byte) {
	h := sip.ContentTypeHeader(kind)
	m.AppendHeader(&h)
	m.SetBody(body)
}

// tagOf is the tag of a From or To; "" without one.
func tagOf(params sip.HeaderParams) string {
	tag, _ := params.Get("tag")
	return tag
}

// addrOf is the address of "host:port".
func addrOf(hostPort string) netip.Addr {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	addr, _ := netip.ParseAddr(host)
	return addr.Unmap().WithZone("")
}

// numberOf makes E.164 of the user part of a SIP or tel URI where it is a number: with or without +, with 00, with
// visual separators and parameters. Anything else comes back as it is.
func numberOf(u sip.Uri) (text string, isNumber bool) {
	text = u.User
	if raw := u.Raw(); raw != "" && u.Scheme == "tel" {
		text = raw
	}
	text, _, _ = strings.Cut(text, ";")
	digits := strings.Map(func(r rune) rune {
		if strings.ContainsRune("-.() ", r) {
			return -1
		}
		return r
	}, text)
	digits = strings.TrimPrefix(digits, "%2B")
	digits = strings.TrimPrefix(digits, "+")
	digits = strings.TrimPrefix(digits, "00")
	if len(digits) >= 7 && len(digits) <= 15 {
		if number, err := phone.Parse("+" + digits); err == nil {
			return number, true
		}
	}
	return text, false
}

// calledNumber is whom an INVITE is for: the request's address, else the To header's, else the trunk's only number.
func calledNumber(req *sip.Request, t *trunk) string {
	if n, ok := numberOf(req.Recipient); ok {
		return n
	}
	if n, ok := numberOf(req.To().Address); ok {
		return n
	}
	if t.From != "" && (t.User != "" && req.Recipient.User == t.User || req.Recipient.User == "") {
		return t.From
	}
	return req.Recipient.User
}

// callerNumber is who calls: what the trunk asserts, else From.
func callerNumber(req *sip.Request) string {
	for _, h := range req.GetHeaders("P-Asserted-Identity") {
		var u sip.Uri
		value := h.Value()
		if i := strings.IndexByte(value, '<'); i >= 0 {
			value, _, _ = strings.Cut(value[i+1:], ">")
		}
		if sip.ParseUri(value, &u) == nil {
			if n, ok := numberOf(u); ok {
				return n
			}
		}
	}
	n, _ := numberOf(req.From().Address)
	if strings.EqualFold(n, "anonymous") {
		return ""
	}
	return n
}

// generic makes a header.
func generic(name, value string) sip.Header { return sip.NewHeader(name, value) }

func seconds(n int) string { return strconv.Itoa(n) }
