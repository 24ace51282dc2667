package egress_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen serves raw connections on an address and counts them. All connections are closed at the end of the test.
func listen(t *testing.T, address string, handle func(net.Conn)) (port string, count *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	count = new(atomic.Int64)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port, count
}

// canary listens on every local address of both families and answers like a web server that should not be reached.
func canary(t *testing.T) (port string, count *atomic.Int64) {
	return listen(t, ":0", func(conn net.Conn) {
		conn.Read(make([]byte, 4096))
		conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret"))
	})
}

// resolver asks a DNS server of the test for everything. answer gets the name without its last dot; nil means NXDOMAIN.
func resolver(t *testing.T, answer func(name string) []netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		query := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			server.WriteTo(reply(query[:n], answer), from)
		}
	})
	t.Cleanup(func() {
		server.Close()
		wg.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// reply answers the one question of a query (RFC 1035 §4.1) with A or AAAA records.
func reply(query []byte, answer func(string) []netip.Addr) []byte {
	var labels []string
	at := 12
	for query[at] != 0 {
		n := int(query[at])
		labels = append(labels, string(query[at+1:at+1+n]))
		at += 1 + n
	}
	kind := binary.BigEndian.Uint16(query[at+1:])
	out := append([]byte{}, query[:at+5]...)
	addrs := answer(strings.Join(labels, "."))
	out[2], out[3] = 0x84, 0
	if addrs == nil {
		out[3] = 3
	}
	count := 0
	for _, ip := range addrs {
		if ip.Is4() && kind == 1 || ip.Is6() && kind == 28 {
			count++
			out = append(out, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(ip.BitLen()/8))
			out = append(out, ip.AsSlice()...)
		}
	}
	copy(out[6:12], []byte{0, byte(count), 0, 0, 0, 0})
	return out
}
