package sip

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/emiago/sipgo/sip"
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

// generic makes a header.
func generic(name, value string) sip.Header { return sip.NewHeader(name, value) }

func seconds(n int) string { return strconv.Itoa(n) }
