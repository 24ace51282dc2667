package sip_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sip"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

func TestCallsOverTCP(t *testing.T) {
	t.Run("out", func(t *testing.T) {
		t.Parallel()
		peer := siptest.StartSipp(t, "testdata/uas_answer.xml", "", "-t", "t1")
		l := open(t, nil, trunkAt(peer.Port, "transport=tcp"))
		require.NoError(t, l.must().Hangup(t.Context(), carrier.CauseNormal))
		peer.Wait()
	})
	t.Run("in", func(t *testing.T) {
		t.Parallel()
		port := siptest.FreePort(t)
		l := open(t, nil, trunkAt(port, "transport=tcp"))
		peer := siptest.StartSippAt(t, port, "testdata/uac_call.xml", l.addr(), "-t", "t1", "-s", "+15005550100")
		require.Equal(t, carrier.ReasonHangup, endOf(t, next(t, l.legs)).Reason)
		peer.Wait()
	})
}

// Two lines call each other over TLS: each is the other's trunk.
func TestCallsOverTLS(t *testing.T) {
	t.Parallel()
	pair, roots := certificate(t)
	port, away := siptest.FreePort(t), siptest.FreePort(t)
	secure := func(at int) func(*sip.Config) {
		return func(c *sip.Config) {
			c.TLSAddr = fmt.Sprintf("127.0.0.1:%d", at)
			c.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
			c.TLSClient = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		}
	}
	near := open(t, secure(port), trunkAt(away, "transport=tls", "srtp=required"))
	far := open(t, secure(away), trunkAt(port, "transport=tls", "srtp=required"))
	leg := near.must()
	other := next(t, far.legs)
	require.Equal(t, "PCMU", other.Info().Codec)
	require.NoError(t, leg.SendDigits(t.Context(), "42#"))
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
	require.Equal(t, carrier.ReasonHangup, endOf(t, other).Reason)
}

func TestATrunkWithAnotherCertificateIsNotTalkedTo(t *testing.T) {
	t.Parallel()
	pair, _ := certificate(t)
	_, others := certificate(t)
	port := siptest.FreePort(t)
	open(t, func(c *sip.Config) {
		c.TLSAddr, c.TLS = fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}, trunkAt(siptest.FreePort(t)))
	l := open(t, func(c *sip.Config) { c.TLSClient = &tls.Config{RootCAs: others, MinVersion: tls.VersionTLS12} }, trunkAt(port, "transport=tls"))
	_, e := l.dial(5*time.Second, nil)
	require.Equal(t, carrier.ReasonCarrierError, e.Reason)
}

// certificate is one for 127.0.0.1, and the roots that trust it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// A fresh process ends a call from what the dead one stored.
func TestReap(t *testing.T) {
	l, peer := called(t, "uas_routes", nil)
	state, addr := l.must().Info().State, l.addr()
	l.unplug()
	l.stop() // without a word to the other side
	<-l.stopped
	fresh := open(t, func(c *sip.Config) { c.Addr = addr }, trunkAt(peer.Port))
	require.NoError(t, fresh.Reap(t.Context(), state))
	peer.Wait()
	require.Error(t, fresh.Reap(t.Context(), []byte(`{"sandbox":"x"}`)))
	require.NotContains(t, strings.ToLower(string(state)), "secret")
}

// PostgreSQL refuses NUL in JSON: a call with one in its headers could not be noted as answered, and would never end.
func TestWhatIsStoredOfACallCanBeStored(t *testing.T) {
	state := string(sip.StateOf("t\x00ag", "al\x00ice"))
	require.NotContains(t, state, `\u0000`)
	require.Contains(t, state, `"remote_tag":"tag"`)
}

func TestDrainWaitsForTheLastCall(t *testing.T) {
	l, peer := called(t, "uas_answer", nil)
	leg := l.must()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, l.Drain(ctx), context.DeadlineExceeded)
	_, e := l.dial(time.Second, nil)
	require.Equal(t, carrier.ReasonDraining, e.Reason)
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
	require.NoError(t, l.Drain(t.Context()))
	peer.Wait()
}

// Strangers get no answer: not to calls, not to OPTIONS, not to rubbish, and none of it becomes a call.
func TestStrangersAreNotAnswered(t *testing.T) {
	t.Parallel()
	l := open(t, nil, "sip://192.0.2.77?from=%2B15005550100")
	conn, err := net.Dial("udp", l.addr())
	require.NoError(t, err)
	defer conn.Close()
	for _, method := range []string{"OPTIONS", "INVITE", "REGISTER", "BYE"} {
		_, err := fmt.Fprintf(conn, "%s sip:+15005550100@%s SIP/2.0\r\nVia: SIP/2.0/UDP %s;branch=z9hG4bK1%s;rport\r\nFrom: <sip:x@y>;tag=1\r\n"+
			"To: <sip:+15005550100@y>\r\nCall-ID: stranger\r\nCSeq: 1 %s\r\nContact: <sip:x@%s>\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n",
			method, l.addr(), conn.LocalAddr(), method, method, conn.LocalAddr())
		require.NoError(t, err)
	}
	_, err = conn.Write([]byte("rubbish\r\n\r\n"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Second)))
	_, err = conn.Read(make([]byte, 1500))
	require.ErrorContains(t, err, "timeout")
	require.Empty(t, l.offers)
	stream, err := net.Dial("tcp", l.addr())
	require.NoError(t, err)
	defer stream.Close()
	require.NoError(t, stream.SetReadDeadline(time.Now().Add(5*time.Second)))
	_, err = stream.Read(make([]byte, 10))
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.Error(t, err, "the connection is closed at once")
}

func TestParseTrunk(t *testing.T) {
	trunk, err := sip.ParseTrunk("sip://user:s%40cret@gw.example.com:5080?transport=tcp&name=main&from=%2B12125550100&allow=203.0.113.0/24&allow=2001:db8::1&srtp=optional&nat=yes&register=no&dtmf=info")
	require.NoError(t, err)
	require.Equal(t, "s@cret", trunk.Secret)
	require.Equal(t, "+12125550100", trunk.From)
	require.Equal(t, "tcp:gw.example.com:5080", trunk.Address())
	require.Len(t, trunk.Allow, 2)
	require.True(t, trunk.NAT && trunk.Info && !trunk.Register)
	require.NotContains(t, fmt.Sprint(trunk.LogValue(), trunk.String()), "cret")
	plain, err := sip.ParseTrunk("sip://user@gw.example.com?from=+12125550100")
	require.NoError(t, err)
	require.True(t, plain.Register, "with a user")
	require.Equal(t, "udp:gw.example.com:5060", plain.Address())
	require.Equal(t, "+12125550100", plain.From, "a plus that nobody escaped")
	secure, err := sip.ParseTrunk("sips://gw.example.com")
	require.NoError(t, err)
	require.Equal(t, "tls:gw.example.com:5061", secure.Address())
	for text, want := range map[string]string{
		"gw.example.com":                          "must look like",
		"https://gw.example.com":                  "must look like",
		"sip://":                                  "must look like",
		"sip://h?transport=sctp":                  "udp, tcp and tls",
		"sips://h?transport=udp":                  "udp, tcp and tls",
		"sip://h?from=12":                         "from",
		"sip://h?allow=everybody":                 "allow=everybody",
		"sip://h?color=red":                       "no parameter",
		"sip://h?register=yes":                    "need a user",
		"sip://h?nat=perhaps":                     "yes and no",
		"sip://h?srtp=maybe":                      "off, optional and required",
		"sip://h?dtmf=loud":                       "rfc4733 and info",
		"sip://h:99999":                           "65535",
		"sip://user:hush@h:99999?name=x&from=abc": "65535",
		"sip://user:1?hush@h?from=%2B12125550100": "? as %3F",
		"sip://user:1#hush@h?from=%2B12125550100": "# as %23",
		"sip://user:1/hush@h?from=%2B12125550100": "must look like",
		"sip://user:%hush@h":                      "% as %25",
		"sip://user:hush@[2001:db8::1]":           "IPv4 only",
		"sip://user:hush@[::1":                    "must look like",
		"sip://user:hush@":                        "must look like",
	} {
		_, err := sip.ParseTrunk(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hush")
	}
}

func TestATrunkByName(t *testing.T) {
	t.Parallel()
	peer := siptest.StartSipp(t, "testdata/uas_answer.xml", "")
	l := open(t, nil, fmt.Sprintf("sip://localhost:%d?from=%%2B15005550100&plus=no", peer.Port))
	require.NoError(t, l.must().Hangup(t.Context(), carrier.CauseNormal))
	peer.Wait()
	require.NotContains(t, peer.Trace(), "INVITE sip:+")
	require.Contains(t, peer.Trace(), "INVITE sip:15005550199@localhost")
}
