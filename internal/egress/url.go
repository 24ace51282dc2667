package egress

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/callwright/callwright/internal/fault"
)

// maxURL is in bytes; longer ones are not addresses people have.
const maxURL = 2048

// CheckURL judges an address as a text, when it is submitted: nothing is looked up. The fault's message starts with the
// field and says what to change. An address that passes can still lead to a private one; the dialer refuses it then.
func (c *Client) CheckURL(p Purpose, field, raw string) error {
	u, err := url.Parse(raw)
	if err != nil || len(raw) > maxURL {
		return fault.Invalidf("%s must be a valid URL of at most %d characters", field, maxURL)
	}
	if err := c.checkURL(p, u); err != nil {
		return fault.Invalidf("%s %s", field, err)
	}
	return nil
}

// checkURL returns the end of a sentence that starts with the field's name.
func (c *Client) checkURL(p Purpose, u *url.URL) error {
	httpsOnly := rules[p].https && !c.config.AllowPrivate
	switch {
	case httpsOnly && u.Scheme != "https":
		return errors.New("must start with https://")
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("must start with https:// or http://")
	case u.Hostname() == "":
		return errors.New("must name a host, as in https://example.com/path")
	case u.User != nil:
		if p == Webhook {
			return errors.New("must not hold a user name or password; use a header instead")
		}
		return errors.New("must not hold a user name or password")
	}
	if err := c.checkHost(u.Hostname()); err != nil {
		return err
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || !c.portAllowed(p, uint16(n)) {
			return errors.New("has a port that is not allowed")
		}
	}
	return nil
}

var (
	errNotPublic = errors.New("must lead to a public host; private, loopback and link-local addresses are refused")
	errNoHost    = errors.New("does not name a host")
)

func (c *Client) checkHost(host string) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		if c.guard.permit(ip) != nil {
			return errNotPublic
		}
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(name, ".")
	if last := labels[len(labels)-1]; isNumber(last) {
		return c.checkNumeric(labels)
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, notInNames) {
			return errNoHost
		}
	}
	if c.config.AllowPrivate {
		return nil
	}
	if len(labels) == 1 {
		return errNotPublic
	}
	for _, zone := range []string{".localhost", ".local", ".internal", ".localdomain", ".home.arpa"} {
		if strings.HasSuffix(name, zone) {
			return errNotPublic
		}
	}
	return nil
}

// checkNumeric is for the spellings of IPv4 addresses that some resolvers and every browser understand: decimal, hex,
// octal, fewer than four parts, a dot at the end (WHATWG URL, "IPv4 parser"). None of them is accepted; the message
// depends on what it would have been.
func (c *Client) checkNumeric(labels []string) error {
	ip, ok := lenientIPv4(labels)
	if !ok {
		return errNoHost
	}
	if c.guard.permit(ip) != nil {
		return errNotPublic
	}
	return errors.New("must spell its IP address as " + ip.String())
}

// isNumber reports whether a last label makes a host an IPv4 address.
func isNumber(label string) bool {
	_, ok := lenientNumber(label)
	return ok
}

func lenientNumber(s string) (uint64, bool) {
	base, digits := 10, s
	switch {
	case strings.HasPrefix(s, "0x"):
		base, digits = 16, s[2:]
		if digits == "" {
			return 0, true
		}
	case len(s) > 1 && s[0] == '0':
		base = 8
		if strings.ContainsAny(s, "89") {
			base = 10
		}
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return n, true
	}
	return n, err == nil
}

func lenientIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, label := range labels {
		n, ok := lenientNumber(label)
		room := uint(8)
		if i == len(labels)-1 {
			room = 8 * uint(5-len(labels))
		}
		if !ok || n >= 1<<room {
			return netip.Addr{}, false
		}
		value = value<<room | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

// lookalikes are letters that name lookup folds to plain ones: superscript, letter-like, fullwidth, mathematical. A name in them can
// read "localhost" after folding; nobody's public name is written so.
var lookalikes = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0xaa, Hi: 0xaa, Stride: 1}, {Lo: 0xba, Hi: 0xba, Stride: 1}, {Lo: 0x2b0, Hi: 0x2ff, Stride: 1},
		{Lo: 0x1d2c, Hi: 0x1dbf, Stride: 1}, {Lo: 0x2070, Hi: 0x209f, Stride: 1}, {Lo: 0x2100, Hi: 0x214f, Stride: 1},
		{Lo: 0xfb00, Hi: 0xfb4f, Stride: 1}, {Lo: 0xff00, Hi: 0xffef, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1d400, Hi: 0x1d7ff, Stride: 1}},
}

// notInNames allows letters, marks and digits of all scripts, the hyphen and (found in real names) the underscore.
func notInNames(r rune) bool {
	if r < 0x80 {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}
	return !unicode.In(r, unicode.L, unicode.M, unicode.Nd) || unicode.Is(lookalikes, r)
}
