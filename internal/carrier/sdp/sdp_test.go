package sdp_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier/sdp"
)

// describe writes a description of lines.
func describe(lines ...string) []byte {
	return []byte(strings.Join(append([]string{"v=0", "o=x 7 8 IN IP4 192.0.2.9", "s=-", "c=IN IP4 192.0.2.9", "t=0 0"}, lines...), "\r\n") + "\r\n")
}

func parse(t *testing.T, lines ...string) *sdp.Session {
	t.Helper()
	s, err := sdp.Parse(describe(lines...))
	require.NoError(t, err)
	return s
}

const key = "d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj"

// local is one of our legs.
func local() sdp.Local {
	return sdp.Local{Addr: netip.MustParseAddr("198.51.100.1"), Port: 10000, ID: 5, Version: 6, SRTP: sdp.SRTPOptional, Key: sdp.NewKey()}
}

func TestParse(t *testing.T) {
	s, err := sdp.Parse([]byte("v=0\no=- 9223372036854775808 3 IN IP4 10.0.0.1\ns=a b\nc=IN IP4 10.0.0.1/127\nb=AS:64\nt=0 0\na=sendonly\n" +
		"m=audio 4000/2 RTP/AVP 8 101 nonsense\na=rtpmap:8 PCMA/8000\na=rtpmap:101 telephone-event/8000/1\na=fmtp:101 0-15\na=ptime:20\na=rtcp:4001 IN IP4 10.0.0.2\na=candidate:1 1 UDP 2130706431 10.0.0.1 4000 typ host\n" +
		"m=video 5000 RTP/AVP 96\nc=IN IP6 2001:db8::1\na=inactive\na=rtcp-mux\na=rtcp:5000\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" + key + "|2^31\na=crypto:2 F8_128_HMAC_SHA1_80 inline:" + key + "|2^20|1:4\na=crypto:x y z\na=crypto:3 A inline:" + key + " UNENCRYPTED_SRTP\n"))
	require.NoError(t, err)
	require.Equal(t, uint64(9223372036854775808), s.ID)
	require.Equal(t, uint64(3), s.Version)
	require.Len(t, s.Media, 2)
	require.Equal(t, sdp.Media{
		Kind: "audio", Port: 4000, Proto: "RTP/AVP", Formats: []string{"8", "101", "nonsense"}, Addr: netip.MustParseAddr("10.0.0.1"),
		Direction: sdp.SendOnly, Codecs: map[string]string{"8": "PCMA/8000", "101": "telephone-event/8000/1"},
		Params: map[string]string{"101": "0-15"}, RTCP: 4001,
	}, s.Media[0], "the direction of the session stands where the line has none")
	require.Equal(t, sdp.Inactive, s.Media[1].Direction)
	require.Equal(t, netip.MustParseAddr("2001:db8::1"), s.Media[1].Addr)
	require.True(t, s.Media[1].Mux)
	require.Equal(t, []sdp.Crypto{
		{Tag: 1, Suite: "AES_CM_128_HMAC_SHA1_80", Key: key}, {Tag: 2, Suite: "F8_128_HMAC_SHA1_80", Key: key, MKI: true},
	}, s.Media[1].Crypto)
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":               "",
		"no description":        "hello\r\nworld",
		"no stream":             string(describe()),
		"no version":            "m=audio 4000 RTP/AVP 0\r\n",
		"a bad port":            string(describe("m=audio 70000 RTP/AVP 0")),
		"a negative port":       string(describe("m=audio -1 RTP/AVP 0")),
		"a short line":          string(describe("m=audio 4000")),
		"a name as the address": string(describe("m=audio 4000 RTP/AVP 0", "c=IN IP4 evil.example.com")),
		"an address in a zone":  string(describe("m=audio 4000 RTP/AVP 0", "c=IN IP6 fe80::1%eth0")),
		"too many streams":      string(describe(strings.Repeat("m=audio 4000 RTP/AVP 0\r\n", 17))),
		"too many lines":        strings.Repeat("v=0\r\n", 501),
	} {
		_, err := sdp.Parse([]byte(text))
		require.Error(t, err, name)
	}
	many := []string{"m=audio 4000 RTP/AVP" + strings.Repeat(" 0", 100)}
	for i := range 100 {
		many = append(many, fmt.Sprintf("a=rtpmap:%d x/8000", i), "a=crypto:1 x inline:y")
	}
	m := parse(t, many...).Media[0]
	require.Len(t, m.Formats, 64)
	require.Len(t, m.Codecs, 64)
	require.Len(t, m.Crypto, 64)
}

func TestAnswer(t *testing.T) {
	at := netip.MustParseAddrPort("192.0.2.9:4000")
	for name, c := range map[string]struct {
		offer  []string
		change func(*sdp.Local)
		want   sdp.Agreed // without keys
		lines  string     // of the answer, from m= on
	}{
		"G.711 in the caller's order": {
			offer: []string{"m=audio 4000 RTP/AVP 18 8 0 101", "a=rtpmap:101 telephone-event/8000"},
			want:  sdp.Agreed{Remote: at, Codec: "PCMA", Accepts: []string{"PCMA"}, SendEvents: 101, ReceiveEvents: 101, Direction: sdp.SendRecv},
			lines: "m=audio 10000 RTP/AVP 8 101|a=rtpmap:8 PCMA/8000|a=rtpmap:101 telephone-event/8000|a=fmtp:101 0-15|a=ptime:20|a=sendrecv",
		},
		"only the codec that the leg is bound to": {
			offer:  []string{"m=audio 4000 RTP/AVP 8 0"},
			change: func(l *sdp.Local) { l.Codec = "PCMU" },
			want:   sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.SendRecv},
			lines:  "m=audio 10000 RTP/AVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=sendrecv",
		},
		"events by the caller's payload type": {
			offer: []string{"m=audio 4000 RTP/AVP 0 96", "a=rtpmap:96 Telephone-Event/8000"},
			want:  sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, SendEvents: 96, ReceiveEvents: 96, Direction: sdp.SendRecv},
			lines: "m=audio 10000 RTP/AVP 0 96|a=rtpmap:0 PCMU/8000|a=rtpmap:96 telephone-event/8000|a=fmtp:96 0-15|a=ptime:20|a=sendrecv",
		},
		"video and everything else is refused, line by line": {
			offer: []string{"m=video 5000 RTP/AVP 96", "m=audio 4000 RTP/AVP 0", "m=image 6000 udptl t38", "m=audio 4002 RTP/AVP 0", "m=message 7000 TCP/MSRP"},
			want:  sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.SendRecv},
			lines: "m=video 0 RTP/AVP 96|m=audio 10000 RTP/AVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=sendrecv|m=image 0 udptl t38|m=audio 0 RTP/AVP 0|m=message 0 TCP/MSRP 0",
		},
		"encrypted sound before plain": {
			offer: []string{"m=audio 4002 RTP/AVP 0", "m=audio 4000 RTP/SAVP 0", "a=crypto:7 AES_CM_128_HMAC_SHA1_32 inline:" + key},
			want:  sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.SendRecv, Suite: sdp.SuiteSHA32},
			lines: "m=audio 0 RTP/AVP 0|m=audio 10000 RTP/SAVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=crypto:7 AES_CM_128_HMAC_SHA1_32 inline:KEY|a=sendrecv",
		},
		"the first key that can be used": {
			offer: []string{
				"m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_256_CM_HMAC_SHA1_80 inline:" + key, "a=crypto:2 AES_CM_128_HMAC_SHA1_80 inline:" + key + "|1:4",
				"a=crypto:3 AES_CM_128_HMAC_SHA1_80 inline:AAAA", "a=crypto:4 AES_CM_128_HMAC_SHA1_80 inline:" + key + "|2^31",
			},
			want:  sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.SendRecv, Suite: sdp.SuiteSHA80},
			lines: "m=audio 10000 RTP/SAVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=crypto:4 AES_CM_128_HMAC_SHA1_80 inline:KEY|a=sendrecv",
		},
		"plain sound where keys are off": {
			offer:  []string{"m=audio 4002 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" + key, "m=audio 4000 RTP/AVP 0"},
			change: func(l *sdp.Local) { l.SRTP = sdp.SRTPOff },
			want:   sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.SendRecv},
			lines:  "m=audio 0 RTP/SAVP 0|m=audio 10000 RTP/AVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=sendrecv",
		},
		"hold": {
			offer: []string{"m=audio 4000 RTP/AVP 0", "a=sendonly"},
			want:  sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.RecvOnly, Held: true},
			lines: "m=audio 10000 RTP/AVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=recvonly",
		},
		"hold without music": {
			offer: []string{"m=audio 4000 RTP/AVP 0", "a=inactive"},
			want:  sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.Inactive, Held: true},
			lines: "m=audio 10000 RTP/AVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=inactive",
		},
		"a caller who only listens": {
			offer: []string{"m=audio 4000 RTP/AVP 0", "a=recvonly"},
			want:  sdp.Agreed{Remote: at, Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.SendOnly},
			lines: "m=audio 10000 RTP/AVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=sendonly",
		},
		"hold of the old kind": {
			offer: []string{"m=audio 4000 RTP/AVP 0", "c=IN IP4 0.0.0.0", "a=rtcp:4009"},
			want: sdp.Agreed{
				Remote: netip.MustParseAddrPort("0.0.0.0:4000"), Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.RecvOnly, Held: true,
			},
			lines: "m=audio 10000 RTP/AVP 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=recvonly",
		},
		"reports at another port": {
			offer: []string{"m=audio 4000 RTP/AVPF 0", "a=rtcp:4009"},
			want: sdp.Agreed{
				Remote: at, RemoteRTCP: netip.MustParseAddrPort("192.0.2.9:4009"), Codec: "PCMU", Accepts: []string{"PCMU"}, Direction: sdp.SendRecv,
			},
			lines: "m=audio 10000 RTP/AVPF 0|a=rtpmap:0 PCMU/8000|a=ptime:20|a=sendrecv",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := local()
			if c.change != nil {
				c.change(&l)
			}
			answer, agreed, err := sdp.Answer(parse(t, c.offer...), l)
			require.NoError(t, err)
			require.Equal(t, agreed.Suite != "", agreed.RemoteKey != [30]byte{})
			require.Equal(t, agreed.Suite != "", agreed.LocalKey != [30]byte{})
			got := *agreed
			got.LocalKey, got.RemoteKey = c.want.LocalKey, c.want.RemoteKey
			require.Equal(t, c.want, got)
			_, lines, _ := strings.Cut(string(answer.Marshal()), "t=0 0\r\n")
			lines = strings.ReplaceAll(strings.TrimSuffix(lines, "\r\n"), "\r\n", "|")
			require.Equal(t, c.lines, strings.ReplaceAll(lines, l.Key, "KEY"))
		})
	}
}

func TestAnswerRefuses(t *testing.T) {
	required := func(l *sdp.Local) { l.SRTP = sdp.SRTPRequired }
	for name, c := range map[string]struct {
		offer  []string
		change func(*sdp.Local)
	}{
		"no codec in common":               {offer: []string{"m=audio 4000 RTP/AVP 18 96", "a=rtpmap:96 opus/48000/2"}},
		"a type 0 that is something else":  {offer: []string{"m=audio 4000 RTP/AVP 0", "a=rtpmap:0 L16/8000"}},
		"two channels":                     {offer: []string{"m=audio 4000 RTP/AVP 0", "a=rtpmap:0 PCMU/8000/2"}},
		"only video":                       {offer: []string{"m=video 4000 RTP/AVP 0"}},
		"audio that is refused":            {offer: []string{"m=audio 0 RTP/AVP 0"}},
		"DTLS":                             {offer: []string{"m=audio 4000 UDP/TLS/RTP/SAVPF 0"}},
		"encrypted without a key":          {offer: []string{"m=audio 4000 RTP/SAVP 0"}},
		"plain where keys are required":    {offer: []string{"m=audio 4000 RTP/AVP 0"}, change: required},
		"encrypted where keys are off":     {offer: []string{"m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" + key}, change: func(l *sdp.Local) { l.SRTP = sdp.SRTPOff }},
		"another codec than the leg's own": {offer: []string{"m=audio 4000 RTP/AVP 8"}, change: func(l *sdp.Local) { l.Codec = "PCMU" }},
	} {
		t.Run(name, func(t *testing.T) {
			l := local()
			if c.change != nil {
				c.change(&l)
			}
			_, _, err := sdp.Answer(parse(t, c.offer...), l)
			require.ErrorIs(t, err, sdp.ErrNothingCommon)
		})
	}
}

func TestOfferAndAccept(t *testing.T) {
	for _, srtp := range []sdp.SRTP{sdp.SRTPOff, sdp.SRTPOptional, sdp.SRTPRequired} {
		t.Run("two of us agree, srtp="+string(srtp), func(t *testing.T) {
			caller, called := local(), local()
			caller.SRTP, called.SRTP = srtp, srtp
			called.Addr, called.Port = netip.MustParseAddr("2001:db8::7"), 20000
			offer := sdp.Offer(caller)
			there, err := sdp.Parse(offer.Marshal())
			require.NoError(t, err)
			answer, theirs, err := sdp.Answer(there, called)
			require.NoError(t, err)
			here, err := sdp.Parse(answer.Marshal())
			require.NoError(t, err)
			ours, err := sdp.Accept(offer, here)
			require.NoError(t, err)
			require.Equal(t, "[2001:db8::7]:20000", ours.Remote.String())
			require.Equal(t, "198.51.100.1:10000", theirs.Remote.String())
			require.Equal(t, ours.Codec, theirs.Codec)
			require.Equal(t, []string{"PCMU", "PCMA"}, ours.Accepts, "the other side may change between what we offered")
			require.Equal(t, uint8(101), ours.SendEvents)
			require.Equal(t, ours.Suite, theirs.Suite)
			require.Equal(t, ours.LocalKey, theirs.RemoteKey)
			require.Equal(t, ours.RemoteKey, theirs.LocalKey)
			require.Equal(t, srtp == sdp.SRTPRequired, ours.Suite != "")
		})
	}
	t.Run("an o= line is a number that strict peers can read", func(t *testing.T) {
		require.Contains(t, string(sdp.Offer(local()).Marshal()), "o=callwright 5 6 IN IP4 198.51.100.1\r\n")
	})
	t.Run("hold of ours, and what the other side says to it", func(t *testing.T) {
		l := local()
		l.Direction = sdp.SendOnly
		offer := sdp.Offer(l)
		require.Contains(t, string(offer.Marshal()), "a=sendonly\r\n")
		a, err := sdp.Accept(offer, parse(t, "m=audio 4000 RTP/AVP 0", "a=recvonly"))
		require.NoError(t, err)
		require.Equal(t, sdp.SendOnly, a.Direction)
		require.False(t, a.Held)
	})
	t.Run("events by the payload type of each side", func(t *testing.T) {
		a, err := sdp.Accept(sdp.Offer(local()), parse(t, "m=audio 4000 RTP/AVP 0 97", "a=rtpmap:97 telephone-event/8000"))
		require.NoError(t, err)
		require.Equal(t, [2]uint8{97, 101}, [2]uint8{a.SendEvents, a.ReceiveEvents})
	})
	for name, answer := range map[string][]string{
		"refused":                {"m=audio 0 RTP/AVP 0"},
		"another codec":          {"m=audio 4000 RTP/AVP 18"},
		"encrypted, unasked for": {"m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:" + key},
		"video instead":          {"m=video 4000 RTP/AVP 0"},
	} {
		t.Run("not an answer that is "+name, func(t *testing.T) {
			_, err := sdp.Accept(sdp.Offer(local()), parse(t, answer...))
			require.ErrorIs(t, err, sdp.ErrNothingCommon)
		})
	}
	for name, answer := range map[string][]string{
		"plain":                     {"m=audio 4000 RTP/AVP 0"},
		"without a key":             {"m=audio 4000 RTP/SAVP 0"},
		"a tag that we did not use": {"m=audio 4000 RTP/SAVP 0", "a=crypto:9 AES_CM_128_HMAC_SHA1_80 inline:" + key},
		"another suite by our tag":  {"m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_32 inline:" + key},
	} {
		t.Run("where keys are required not one that is "+name, func(t *testing.T) {
			l := local()
			l.SRTP = sdp.SRTPRequired
			_, err := sdp.Accept(sdp.Offer(l), parse(t, answer...))
			require.ErrorIs(t, err, sdp.ErrNothingCommon)
		})
	}
}

// FuzzParse: what strangers write is read, answered, written and read again without falling over, and our answer has a
// line for each of theirs and nothing else of them.
func FuzzParse(f *testing.F) {
	f.Add(describe("m=audio 4000 RTP/AVP 0 8 101", "a=rtpmap:101 telephone-event/8000", "a=sendonly"))
	f.Add(describe("m=video 5000 RTP/AVP 96", "m=audio 4000 RTP/SAVP 0", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:"+key))
	f.Add([]byte("v=0\nm=audio 1 RTP/AVP 0\nc=IN IP6 ::\na=rtcp:0\na=rtcp-mux"))
	f.Add(sdp.Offer(local()).Marshal())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := sdp.Parse(text)
		if err != nil {
			return
		}
		_, _ = sdp.Accept(sdp.Offer(local()), s)
		answer, agreed, err := sdp.Answer(s, local())
		if err != nil {
			require.ErrorIs(t, err, sdp.ErrNothingCommon)
			return
		}
		require.NotZero(t, agreed.Remote.Port())
		require.Contains(t, []string{"PCMU", "PCMA"}, agreed.Codec)
		written := answer.Marshal()
		again, err := sdp.Parse(written)
		require.NoError(t, err)
		require.Len(t, again.Media, len(s.Media))
		taken := 0
		for _, m := range again.Media {
			if m.Port != 0 {
				taken++
				require.Equal(t, 10000, m.Port)
			}
		}
		require.Equal(t, 1, taken)
		require.Equal(t, 1, bytes.Count(written, []byte("v=0")), "no lines of theirs in ours")
	})
}
