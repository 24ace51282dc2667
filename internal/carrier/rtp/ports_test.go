package rtp_test

import (
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

var over = &carrier.Ended{Class: carrier.ClassSuccess, Reason: carrier.ReasonHangup}

func TestPorts(t *testing.T) {
	open := func(t *testing.T, n *rtp.Network, from, to uint16) *rtp.Ports {
		p, err := rtp.New(n.Config(rtp.Config{From: from, To: to}))
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, p.Close())
			require.Equal(t, n.Bound(), n.Closed(), "all sockets are closed at the end")
		})
		return p
	}
	take := func(t *testing.T, p *rtp.Ports) *rtp.Stream {
		s, err := p.Stream(rtp.Handlers{})
		require.NoError(t, err)
		return s
	}
	t.Run("streams get even ports of the range, no two the same, in no order", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := open(t, rtp.NewNetwork(), 10001, 10100) // 49 pairs: 10002 to 10098
			require.Equal(t, 49, p.Free())
			seen := map[uint16]bool{}
			rising := 0
			last := uint16(0)
			for range 49 {
				s := take(t, p)
				require.Zero(t, s.Port()%2)
				require.False(t, seen[s.Port()])
				seen[s.Port()] = true
				require.True(t, s.Port() >= 10002 && s.Port() <= 10098)
				if s.Port() > last {
					rising++
				}
				last = s.Port()
			}
			require.Less(t, rising, 45)
			_, err := p.Stream(rtp.Handlers{})
			require.ErrorIs(t, err, rtp.ErrNoPort)
			require.Zero(t, p.Free())
		})
	})
	t.Run("a port of an ended call is kept, drained, until 30 s without a packet", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			n := rtp.NewNetwork()
			p := open(t, n, 10000, 10020)
			s := take(t, p)
			peer := (&call{t: t, net: n, to: netip.AddrPortFrom(here, s.Port())}).listen(there)
			require.NoError(t, s.Start(params()))
			s.Close(over)
			s.Close(over)
			for range 100 { // the other side has not noticed yet
				peer.send(friend, 0)
				wait(time.Second)
			}
			require.Zero(t, n.Closed())
			for range 9 {
				require.NotEqual(t, s.Port(), take(t, p).Port(), "others come first")
			}
			wait(rtp.RestTime + 2*time.Second)
			require.Equal(t, 2, n.Closed())
			require.Equal(t, s.Port(), take(t, p).Port(), "now it may be taken")
		})
	})
	t.Run("packets that never stop hold a port for ten minutes", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			n := rtp.NewNetwork()
			p := open(t, n, 10000, 10020)
			s := take(t, p)
			peer := (&call{t: t, net: n, to: netip.AddrPortFrom(here, s.Port())}).listen(there)
			s.Close(over)
			for range 598 {
				peer.send(friend, 0)
				wait(time.Second)
			}
			require.Zero(t, n.Closed())
			wait(3 * time.Second)
			require.Equal(t, 2, n.Closed())
		})
	})
	t.Run("when all others are taken a resting port is, and hears nothing of the last call", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			n := rtp.NewNetwork()
			p := open(t, n, 10000, 10001)
			s := take(t, p)
			c := &call{t: t, net: n, to: netip.AddrPortFrom(here, s.Port())}
			last := c.listen(there)
			s.Close(over)
			last.send(friend, 0)
			next := take(t, p)
			require.Equal(t, s.Port(), next.Port())
			last.send(friend, 0)
			q := params()
			q.Remote = netip.MustParseAddrPort("203.0.113.9:4000")
			require.NoError(t, next.Start(q))
			last.send(friend, 0)
			wait(time.Second)
			require.Equal(t, rtp.Stats{Strangers: 1, Sent: 50}, next.Stats())
		})
	})
	t.Run("a port that another program holds is left out", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			n := rtp.NewNetwork()
			p := open(t, n, 10000, 10003)
			_, err := n.Listen(netip.AddrPortFrom(here, 10001)) // the odd one
			require.NoError(t, err)
			require.Equal(t, uint16(10002), take(t, p).Port())
			_, err = p.Stream(rtp.Handlers{})
			require.ErrorIs(t, err, rtp.ErrNoPort)
			require.Error(t, p.Check())
		})
	})
	t.Run("without descriptors a resting port is taken, or there is none", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			n := rtp.NewNetwork()
			p := open(t, n, 10000, 10020)
			s := take(t, p)
			s.Close(over)
			n.Refuse = syscall.EMFILE
			require.Equal(t, s.Port(), take(t, p).Port())
			_, err := p.Stream(rtp.Handlers{})
			require.ErrorIs(t, err, rtp.ErrNoPort)
			require.ErrorIs(t, err, syscall.EMFILE)
		})
	})
	t.Run("a thousand short calls leave a bounded number of sockets", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			n := rtp.NewNetwork()
			p := open(t, n, 10000, 20000)
			for range 1000 {
				take(t, p).Close(over)
			}
			require.Equal(t, 2*rtp.RestingPairs, n.Bound()-n.Closed())
			wait(rtp.RestTime + 2*time.Second)
			require.Equal(t, n.Bound(), n.Closed())
			require.Equal(t, 5000, p.Free())
		})
	})
	t.Run("a closed one ends its streams", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			wait(time.Second)
			require.NoError(t, c.ports.Close())
			require.NoError(t, c.ports.Close())
			require.Error(t, c.s.Media().Mark(1, "x"))
			_, err := c.ports.Stream(rtp.Handlers{})
			require.ErrorIs(t, err, rtp.ErrNoPort)
		})
	})
	t.Run("a range without a pair is refused", func(t *testing.T) {
		for _, r := range [][2]uint16{{10001, 10001}, {10001, 10002}, {20000, 10000}, {0, 100}} {
			_, err := rtp.New(rtp.Config{From: r[0], To: r[1]})
			require.Error(t, err, r)
		}
	})
	t.Run("real ports of this machine can be checked", func(t *testing.T) {
		p, err := rtp.New(rtp.Config{Address: netip.MustParseAddr("127.0.0.1"), From: 21000, To: 22000})
		require.NoError(t, err)
		require.NoError(t, p.Check())
		require.Equal(t, 500, p.Free())
		require.NoError(t, p.Close())
		p, err = rtp.New(rtp.Config{Address: netip.MustParseAddr("192.0.2.1"), From: 21000, To: 22000})
		require.NoError(t, err)
		require.ErrorIs(t, p.Check(), syscall.EADDRNOTAVAIL)
		require.NoError(t, p.Close())
	})
}

func TestReports(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := answered(t, params())
		reports := c.listen(netip.AddrPortFrom(there.Addr(), there.Port()+1))
		c.both(100)
		c.peer.Seq += 10 // ten lost
		c.both(900)
		got := reports.socket.Received()
		require.InDelta(t, 4, len(got), 2, "every five seconds or so")
		last := got[len(got)-1].Data
		require.True(t, rtp.ParseRTCP(last))
		require.Equal(t, byte(200), last[1])
		packets := c.peer.got()
		require.Equal(t, packets[0].SSRC, be32(last[4:]))
		require.InDelta(t, float64(packets[len(packets)-1].Timestamp), float64(be32(last[16:])), 8*8000)
		require.InDelta(t, 900, float64(be32(last[20:])), 400, "packets sent")
		require.Equal(t, c.peer.SSRC, be32(last[28:]))
		require.Equal(t, uint32(10), be32(last[32:])&0xffffff, "lost")
		// The other side's report gives the round trip: as it says that it held ours for no time, all since then.
		to := netip.AddrPortFrom(here, c.s.Port()+1)
		ours := be32(last[10:])
		report := rtp.Report(c.peer.SSRC, packets[0].SSRC, 7, ours, time.Now())
		reports.socket.Send(report, to, 0)
		wait(time.Second)
		s := c.s.Stats()
		require.Equal(t, uint64(7), s.RemoteLost)
		require.Equal(t, 10*time.Millisecond, s.RemoteJitter)
		require.InDelta(t, time.Since(got[len(got)-1].At).Seconds()-1, s.RoundTrip.Seconds(), 0.3)
		c.s.Close(over)
		bye := reports.socket.Received()
		require.Equal(t, byte(203), bye[len(bye)-1].Data[len(bye[len(bye)-1].Data)-7])
	})
}

// The path of a packet, in and out, with real sockets and with SRTP.
func TestTickDoesNotAllocate(t *testing.T) {
	for name, keys := range map[string]*rtp.Keys{"plain": nil, "SRTP": rtp.NewKeys(rtp.AES128SHA1Tag80)} {
		t.Run(name, func(t *testing.T) {
			ports, err := rtp.New(rtp.Config{Address: netip.MustParseAddr("127.0.0.1"), From: 22000, To: 23000})
			require.NoError(t, err)
			defer ports.Close()
			s, err := ports.Stream(rtp.Handlers{Event: func(carrier.Event) {}})
			require.NoError(t, err)
			socket, at, err := rtp.ListenUDP()
			require.NoError(t, err)
			defer socket.Close()
			tick := s.Unpaced()
			require.NoError(t, s.Start(rtp.Params{Remote: at, SendKeys: keys, ReceiveKeys: keys}))
			s.Media().Tap(func(carrier.Tick) {})
			const runs = 200
			var packets [][]byte
			seal := func(b []byte) []byte { return b }
			if keys != nil {
				seal = rtp.Seal(keys)
			}
			for i := range runs + 10 {
				packets = append(packets, seal(rtp.Packet{SSRC: 7, Seq: uint16(i), Timestamp: uint32(160 * i), Payload: audio.EncodeUlaw(nil, friend)}.Bytes()))
			}
			next := 0
			to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), s.Port())
			require.NoError(t, s.Media().Enqueue(1, voice(10*time.Second)))
			once := func() {
				require.NoError(t, socket.Send(packets[next], to))
				next++
				tick()
			}
			once()
			allowed := 0.0
			if keys != nil {
				allowed = 1 // of the cipher, under the race detector
			}
			require.LessOrEqual(t, testing.AllocsPerRun(runs, once), allowed)
			require.Equal(t, uint64(runs+2), s.Stats().Received)
			s.Close(over)
		})
	}
}
