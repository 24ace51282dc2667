package sip_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier/sip"
)

const (
	ours      = "127.0.0.1:5060"
	strangers = "203.0.113.9:5060"
)

// request is a sound request of a Call-ID.
func request(callID, method string, lines ...string) []byte {
	all := []string{
		method + " sip:+15005550100@127.0.0.1 SIP/2.0", "Via: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKx", "Max-Forwards: 70",
		"From: <sip:a@127.0.0.1>;tag=1", "To: <sip:b@127.0.0.1>", "Call-ID: " + callID, "CSeq: 1 " + method,
	}
	return message(append(all, lines...)...)
}

func TestGate(t *testing.T) {
	datagram, _ := sip.Gate("our-call")
	pass := func(from string, data []byte) bool {
		out, err := datagram(from, data)
		require.NoError(t, err)
		return len(out) > 0
	}
	for name, c := range map[string]struct {
		data             []byte
		trunk, strangers bool
	}{
		"a new call":                        {request("new", "INVITE"), true, false},
		"a request of a call in progress":   {request("our-call", "BYE"), true, true},
		"OPTIONS":                           {request("new", "OPTIONS"), true, false},
		"REGISTER":                          {request("new", "REGISTER"), true, false},
		"a keep-alive":                      {[]byte("\r\n\r\n"), false, false},
		"nothing":                           {nil, false, false},
		"something else":                    {[]byte("GET / HTTP/1.1\r\n\r\n"), false, false},
		"another method in CSeq":            {bytes.Replace(request("our-call", "BYE"), []byte("1 BYE"), []byte("1 INVITE"), 1), false, false},
		"another version":                   {bytes.Replace(request("our-call", "BYE"), []byte("SIP/2.0\r"), []byte("SIP/9.0\r"), 1), false, false},
		"no tag":                            {bytes.Replace(request("our-call", "BYE"), []byte(";tag=1"), nil, 1), false, false},
		"no branch":                         {bytes.Replace(request("our-call", "BYE"), []byte(";branch=z9hG4bKx"), nil, 1), false, false},
		"no Via":                            {bytes.Replace(request("our-call", "BYE"), []byte("Via"), []byte("Vio"), 1), false, false},
		"a Call-ID with what is no letter":  {request("our\x01call", "BYE"), false, false},
		"more than anybody has to say":      {request("our-call", "INFO", "X: "+strings.Repeat("y", 40000)), false, false},
		"a response of a call in progress":  {message("SIP/2.0 200 OK", "Via: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKx", "From: <sip:a@127.0.0.1>;tag=1", "To: <sip:b@127.0.0.1>;tag=2", "Call-ID: our-call", "CSeq: 1 BYE"), true, true},
		"a response with a code that is no": {message("SIP/2.0 999 What", "Via: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bKx", "From: <sip:a@127.0.0.1>;tag=1", "To: <sip:b@127.0.0.1>;tag=2", "Call-ID: our-call", "CSeq: 1 BYE"), false, false},
	} {
		require.Equal(t, c.trunk, pass(ours, c.data), "%s, of a trunk", name)
		require.Equal(t, c.strangers, pass(strangers, c.data), "%s, of a stranger", name)
	}
}

func TestGateOfStreams(t *testing.T) {
	whole := slices.Concat(request("a", "INVITE", sound), []byte("\r\n\r\n"), request("b", "OPTIONS"))
	wanted := slices.Concat(request("a", "INVITE", sound), request("b", "OPTIONS"))
	for size := 1; size < 200; size += 7 {
		_, stream := sip.Gate("")
		var got []byte
		for piece := range slices.Chunk(whole, size) {
			out, err := stream(ours, piece)
			require.NoError(t, err)
			got = append(got, out...)
		}
		require.Equal(t, string(wanted), string(got), "in pieces of %d", size)
	}
	_, stream := sip.Gate("")
	out, err := stream(strangers, whole)
	require.NoError(t, err)
	require.Empty(t, out)
	for name, bad := range map[string]string{
		"no length":       "OPTIONS sip:x SIP/2.0\r\nCall-ID: x\r\n\r\n",
		"a bad length":    "OPTIONS sip:x SIP/2.0\r\nContent-Length: -1\r\n\r\n",
		"two lengths":     "OPTIONS sip:x SIP/2.0\r\nContent-Length: 1\r\nl: 2\r\n\r\n",
		"a huge length":   "OPTIONS sip:x SIP/2.0\r\nContent-Length: 999999999\r\n\r\n",
		"an endless head": strings.Repeat("x", 40000),
	} {
		_, stream := sip.Gate("")
		_, err := stream(ours, []byte(bad))
		require.Error(t, err, "%s: the connection is closed", name)
	}
}

// FuzzGate: whatever comes, the gate does not fall over, lets pass only what it got, and of a stranger only what names a
// call of ours.
func FuzzGate(f *testing.F) {
	for _, m := range seeds("SIP/2.0/UDP 127.0.0.1:5060;rport", "127.0.0.1") {
		f.Add(m, uint16(30))
	}
	f.Add([]byte("\r\n\r\n\r\n"), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		datagram, stream := sip.Gate("our-call")
		out, err := datagram(ours, bytes.Clone(data))
		require.NoError(t, err)
		require.True(t, len(out) == 0 || bytes.Equal(out, data))
		out, err = datagram(strangers, bytes.Clone(data))
		require.NoError(t, err)
		require.True(t, len(out) == 0 || bytes.Contains(data, []byte("our-call")))
		at := min(int(cut), len(data))
		first, err := stream(ours, bytes.Clone(data[:at]))
		if err != nil {
			return
		}
		second, err := stream(ours, bytes.Clone(data[at:]))
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(first)+len(second), len(data))
	})
}
