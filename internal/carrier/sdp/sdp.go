// Package sdp reads and writes the descriptions by which two telephones agree on sound (RFC 8866), and makes offers and
// answers of them (RFC 3264): one audio stream of G.711 with telephone-events, plain or as SRTP with SDES keys (RFC 4568).
// Every other line of an offer is answered line by line, refused.
//
// What comes in was written by strangers: [Parse] is bounded, takes what is usable and never panics.
package sdp

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Bounds of what is read.
const (
	maxLines = 500
	maxMedia = 16
	maxCodes = 64
)

// Direction is who may send, seen from who wrote the description.
type Direction string

// The directions.
const (
	SendRecv Direction = "sendrecv"
	SendOnly Direction = "sendonly"
	RecvOnly Direction = "recvonly"
	Inactive Direction = "inactive"
)

// Sends reports whether the writer sends.
func (d Direction) Sends() bool { return d == SendRecv || d == SendOnly }

// Receives reports whether the writer wants to receive.
func (d Direction) Receives() bool { return d == SendRecv || d == RecvOnly }

// reverse is the same seen from the other side.
func (d Direction) reverse() Direction {
	switch d {
	case SendOnly:
		return RecvOnly
	case RecvOnly:
		return SendOnly
	}
	return d
}

// Session is a description.
type Session struct {
	// ID and Version of the o= line; a description that changed has a higher version.
	ID, Version uint64
	// Addr is the address of the c= line; the zero value when there is none.
	Addr  netip.Addr
	Media []Media
}

// Media is one m= line with what belongs to it.
type Media struct {
	// Kind is audio, video, …
	Kind string
	// Port 0 means that the stream is refused or not used.
	Port int
	// Proto is RTP/AVP, RTP/SAVP, …
	Proto string
	// Formats are the payload types, or what stands in their place.
	Formats []string
	// Addr is the address of the line's own c=, else the session's; the zero value when there is none.
	Addr      netip.Addr
	Direction Direction
	// Codecs are the rtpmap lines by payload type: "PCMU/8000".
	Codecs map[string]string
	// Params are the fmtp lines by payload type.
	Params map[string]string
	// Crypto are the SDES keys, in the order of preference.
	Crypto []Crypto
	// RTCP is the port of the reports when it is not the next one after Port; 0 otherwise.
	RTCP int
	// Mux tells that reports may come on Port too.
	Mux bool
}

// Crypto is one a=crypto line (RFC 4568).
type Crypto struct {
	Tag   int
	Suite string
	// Key is the base64 of master key and salt, without "inline:" and without lifetime and MKI.
	Key string
	// MKI is set when the key asks for an identifier in every packet, which we do not support.
	MKI bool
}

// Parse reads a description. Lines that mean nothing to us are passed over; an error means that it can not be used.
func Parse(text []byte) (*Session, error) {
	lines := bytes.Split(text, []byte("\n"))
	if len(lines) > maxLines {
		return nil, errors.New("sdp: too many lines")
	}
	s := &Session{}
	seen, direction := false, SendRecv
	var m *Media
	for _, raw := range lines {
		line := strings.TrimRight(string(raw), "\r")
		if len(line) < 2 || line[1] != '=' {
			continue
		}
		kind, value := line[0], line[2:]
		switch kind {
		case 'v':
			seen = true
		case 'o':
			s.origin(value)
		case 'm':
			if len(s.Media) == maxMedia {
				return nil, errors.New("sdp: too many streams")
			}
			next, err := parseMedia(value)
			if err != nil {
				return nil, err
			}
			next.Direction, next.Addr = direction, s.Addr
			s.Media = append(s.Media, next)
			m = &s.Media[len(s.Media)-1]
		case 'c':
			addr, err := parseAddr(value)
			if err != nil {
				return nil, err
			}
			if m == nil {
				s.Addr = addr
			} else {
				m.Addr = addr
			}
		case 'a':
			if d := Direction(value); d == SendRecv || d == SendOnly || d == RecvOnly || d == Inactive {
				if m == nil {
					direction = d
				} else {
					m.Direction = d
				}
			} else if m != nil {
				m.attribute(value)
			}
		}
	}
	if !seen || len(s.Media) == 0 {
		return nil, errors.New("sdp: no description")
	}
	return s, nil
}

// origin takes what an o= line tells; a bad one costs only that.
func (s *Session) origin(value string) {
	f := strings.Fields(value)
	if len(f) < 3 {
		return
	}
	s.ID, _ = strconv.ParseUint(f[1], 10, 64)
	s.Version, _ = strconv.ParseUint(f[2], 10, 64)
}

func parseMedia(value string) (m Media, err error) {
	f := strings.Fields(value)
	if len(f) < 3 {
		return m, errors.New("sdp: bad m= line")
	}
	port, _, _ := strings.Cut(f[1], "/")
	if m.Port, err = strconv.Atoi(port); err != nil || m.Port < 0 || m.Port > 65535 {
		return m, errors.New("sdp: bad port")
	}
	m.Kind, m.Proto, m.Formats = f[0], f[2], f[3:]
	if len(m.Formats) > maxCodes {
		m.Formats = m.Formats[:maxCodes]
	}
	return m, nil
}

// parseAddr reads a c= line. A name instead of an address is an error: nobody resolves names for strangers here.
func parseAddr(value string) (netip.Addr, error) {
	f := strings.Fields(value)
	if len(f) < 3 || f[0] != "IN" {
		return netip.Addr{}, errors.New("sdp: bad c= line")
	}
	host, _, _ := strings.Cut(f[2], "/")
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}, errors.New("sdp: the c= line holds no address")
	}
	return addr.Unmap(), nil
}

func (m *Media) attribute(value string) {
	name, rest, _ := strings.Cut(value, ":")
	switch name {
	case "rtpmap", "fmtp":
		format, what, ok := strings.Cut(rest, " ")
		if !ok {
			return
		}
		into := &m.Codecs
		if name == "fmtp" {
			into = &m.Params
		}
		if *into == nil {
			*into = map[string]string{}
		}
		if len(*into) < maxCodes {
			(*into)[format] = strings.TrimSpace(what)
		}
	case "rtcp":
		port, _, _ := strings.Cut(rest, " ")
		if n, err := strconv.Atoi(port); err == nil && n > 0 && n <= 65535 {
			m.RTCP = n
		}
	case "rtcp-mux":
		m.Mux = true
	case "crypto":
		if c, ok := parseCrypto(rest); ok && len(m.Crypto) < maxCodes {
			m.Crypto = append(m.Crypto, c)
		}
	}
}

// parseCrypto reads "1 AES_CM_128_HMAC_SHA1_80 inline:KEY|2^31|1:1". Session parameters change what is on the wire, so a
// line with any is passed over.
func parseCrypto(value string) (c Crypto, ok bool) {
	f := strings.Fields(value)
	if len(f) != 3 {
		return c, false
	}
	tag, err := strconv.Atoi(f[0])
	key, inline := strings.CutPrefix(f[2], "inline:")
	if err != nil || tag < 0 || !inline || strings.Contains(key, ";") {
		return c, false
	}
	parts := strings.Split(key, "|")
	c = Crypto{Tag: tag, Suite: f[1], Key: parts[0]}
	for _, p := range parts[1:] {
		c.MKI = c.MKI || strings.Contains(p, ":")
	}
	return c, true
}

// Marshal writes a description.
func (s *Session) Marshal() []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	line("v=0")
	line("o=callwright %d %d IN %s", s.ID, s.Version, address(s.Addr))
	line("s=-")
	line("c=IN %s", address(s.Addr))
	line("t=0 0")
	for i := range s.Media {
		m := &s.Media[i]
		line("m=%s %d %s %s", m.Kind, m.Port, m.Proto, strings.Join(m.Formats, " "))
		if m.Port == 0 {
			continue
		}
		for _, f := range m.Formats {
			if codec := m.Codecs[f]; codec != "" {
				line("a=rtpmap:%s %s", f, codec)
			}
			if params := m.Params[f]; params != "" {
				line("a=fmtp:%s %s", f, params)
			}
		}
		line("a=ptime:20")
		for _, c := range m.Crypto {
			line("a=crypto:%d %s inline:%s", c.Tag, c.Suite, c.Key)
		}
		line("a=%s", m.Direction)
	}
	return b.Bytes()
}

func address(a netip.Addr) string {
	if a.Is6() {
		return "IP6 " + a.String()
	}
	if !a.IsValid() {
		return "IP4 0.0.0.0"
	}
	return "IP4 " + a.String()
}
