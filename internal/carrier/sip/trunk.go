package sip

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/callwright/callwright/internal/carrier/sdp"
	"github.com/callwright/callwright/internal/phone"
)

// Trunk is a way to the telephone network: a provider's gateway, or a PBX.
type Trunk struct {
	// Name is how logs and doctor call it. Defaults to the host.
	Name string
	// Host is a name or an address. Port 0 is the transport's own, or what the name's SRV records tell.
	Host string
	Port int
	// Transport is udp, tcp or tls.
	Transport string
	// User and Secret answer digest challenges; both may be empty.
	User, Secret string
	// From is the number, E.164, by which calls leave whose agent has none. Empty: none.
	From string
	// Allow are the sources that may call us beside the trunk's own host.
	Allow []netip.Prefix
	// Register keeps us registered at the trunk. Defaults to whether there is a user.
	Register bool
	// Challenge makes the trunk's own calls to us prove the user and secret by digest.
	Challenge bool
	// SRTP is whether the sound is encrypted.
	SRTP sdp.SRTP
	// NAT takes the sound from where it really comes, and sends it there, whatever the trunk's SDP tells.
	NAT bool
	// NoPlus writes numbers without their +.
	NoPlus bool
	// Info sends digits as INFO instead of telephone-events.
	Info bool
}

// trunkParams are what may stand behind the question mark of a trunk's URL.
var trunkParams = []string{"allow", "challenge", "dtmf", "from", "name", "nat", "plus", "register", "srtp", "transport"}

// ParseTrunk reads sip://user:secret@gw.example.com:5060?transport=udp&name=main&from=%2B15551230000 (CONTRACT.md §4).
// sips:// stands for transport=tls. Errors never show the secret.
func ParseTrunk(text string) (t Trunk, err error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "sip" && u.Scheme != "sips" || u.Hostname() == "" || u.Opaque != "" || strings.Trim(u.Path, "/") != "" ||
		u.User == nil && strings.Contains(text, "@") || strings.Contains(text, "#") { // a secret that ends early: what is left of it must not be shown
		return t, fmt.Errorf("must look like sip://user:secret@gw.example.com:5060?transport=udp&name=main&from=%%2B15551230000; " +
			"in user and secret write %% as %%25, / as %%2F, ? as %%3F, # as %%23, @ as %%40 and a comma as %%2C")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && a.Unmap().Is6() {
		return t, fmt.Errorf("the host is an IPv6 address: trunks are reached by IPv4 only")
	}
	t = Trunk{Host: u.Hostname(), User: u.User.Username()}
	t.Secret, _ = u.User.Password()
	if port := u.Port(); port != "" {
		if t.Port, err = strconv.Atoi(port); err != nil || t.Port < 1 || t.Port > 65535 {
			return t, fmt.Errorf("the port %q is not between 1 and 65535", port)
		}
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, fmt.Errorf("what follows the question mark can not be read: write + as %%2B and & between parameters")
	}
	for key := range q {
		if !slices.Contains(trunkParams, key) {
			return t, fmt.Errorf("%q is no parameter of a trunk; there are %s", key, strings.Join(trunkParams, ", "))
		}
	}
	t.Name = cmp.Or(q.Get("name"), t.Host)
	t.Transport = strings.ToLower(cmp.Or(q.Get("transport"), map[bool]string{true: "tls", false: "udp"}[u.Scheme == "sips"]))
	if !slices.Contains([]string{"udp", "tcp", "tls"}, t.Transport) || u.Scheme == "sips" && t.Transport != "tls" {
		return t, fmt.Errorf("transport=%s: there are udp, tcp and tls", t.Transport)
	}
	// A + that is not written as %2B arrives as a space.
	if from := strings.TrimSpace(q.Get("from")); from != "" {
		if t.From, err = phone.Parse("+" + strings.TrimPrefix(from, "+")); err != nil {
			return t, fmt.Errorf("from %w", err)
		}
	}
	if t.Allow, err = parseAllow(q["allow"]); err != nil {
		return t, err
	}
	switch t.SRTP = sdp.SRTP(cmp.Or(q.Get("srtp"), string(sdp.SRTPOff))); t.SRTP {
	case sdp.SRTPOff, sdp.SRTPOptional, sdp.SRTPRequired:
	default:
		return t, fmt.Errorf("srtp=%s: there are off, optional and required", t.SRTP)
	}
	switch digits := cmp.Or(q.Get("dtmf"), "rfc4733"); digits {
	case "rfc4733", "info":
		t.Info = digits == "info"
	default:
		return t, fmt.Errorf("dtmf=%s: there are rfc4733 and info", digits)
	}
	for _, flag := range []struct {
		name      string
		into      *bool
		otherwise bool
	}{{"register", &t.Register, t.User != ""}, {"challenge", &t.Challenge, false}, {"nat", &t.NAT, false}, {"plus", &t.NoPlus, true}} {
		if *flag.into, err = parseFlag(flag.name, q.Get(flag.name), flag.otherwise); err != nil {
			return t, err
		}
	}
	t.NoPlus = !t.NoPlus // it was plus= until here
	if (t.Register || t.Challenge) && t.User == "" {
		return t, fmt.Errorf("register and challenge need a user and a secret: sip://user:secret@%s", t.Host)
	}
	return t, nil
}

func parseAllow(all []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, text := range all {
		for _, one := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
			prefix, err := netip.ParsePrefix(one)
			if addr, single := netip.ParseAddr(one); single == nil {
				prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
			}
			if err != nil {
				return nil, fmt.Errorf("allow=%s is neither an address nor a network such as 203.0.113.0/24", one)
			}
			out = append(out, prefix.Masked())
		}
	}
	return out, nil
}

func parseFlag(name, value string, otherwise bool) (bool, error) {
	switch strings.ToLower(value) {
	case "":
		return otherwise, nil
	case "yes", "true", "1", "on":
		return true, nil
	case "no", "false", "0", "off":
		return false, nil
	}
	return false, fmt.Errorf("%s=%s: there are yes and no", name, value)
}

// LogValue keeps user and secret out of logs.
func (t Trunk) LogValue() slog.Value { return slog.StringValue(t.Name) }

// String names a trunk without its user and secret.
func (t Trunk) String() string { return t.Name + " (" + t.Address() + ")" }

// Address is where requests go that have no route: "udp:gw.example.com:5060".
func (t Trunk) Address() string {
	return t.Transport + ":" + net.JoinHostPort(t.Host, strconv.Itoa(t.port()))
}

func (t Trunk) port() int {
	switch {
	case t.Port != 0:
		return t.Port
	case t.Transport == "tls":
		return 5061
	}
	return 5060
}
