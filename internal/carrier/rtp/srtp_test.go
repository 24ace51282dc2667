package rtp_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier/rtp"
)

// secured is a call with keys and the two of them.
func secured(t *testing.T, suite rtp.Suite) (c *call, p rtp.Params) {
	p = params()
	p.SendKeys, p.ReceiveKeys = rtp.NewKeys(suite), rtp.NewKeys(suite)
	c = answered(t, p)
	c.peer.Seq, c.peer.seal = 100, rtp.Seal(p.ReceiveKeys)
	return c, p
}

func TestSRTP(t *testing.T) {
	for _, suite := range []rtp.Suite{rtp.AES128SHA1Tag80, rtp.AES128SHA1Tag32} {
		t.Run(string(suite)+" both ways", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, p := secured(t, suite)
				tone := voice(time.Second)
				require.NoError(t, c.s.Media().Enqueue(1, tone))
				c.both(50)
				c.hearsFriend(t)
				open := rtp.Open(p.SendKeys)
				for _, a := range c.peer.socket.Received() {
					require.Len(t, a.Data, 172+map[rtp.Suite]int{rtp.AES128SHA1Tag80: 10, rtp.AES128SHA1Tag32: 4}[suite])
					plain, ok := rtp.Parse(a.Data)
					require.True(t, ok)
					clear, ok := open(a.Data)
					require.True(t, ok)
					opened, ok := rtp.Parse(clear)
					require.True(t, ok)
					require.NotEqual(t, plain.Payload[:160], opened.Payload, "it is encrypted")
				}
				c.press(5, 4)
				wait(frame)
				require.Equal(t, "5", c.digits())
				require.Zero(t, c.s.Stats().Invalid)
			})
		})
	}
	t.Run("the wrong key, no key, a changed packet and a repeated one are not heard", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, p := secured(t, rtp.AES128SHA1Tag80)
			c.both(25)
			sealed := c.peer.seal(rtp.Packet{SSRC: c.peer.SSRC, Seq: c.peer.Seq, Timestamp: c.peer.Timestamp, Payload: make([]byte, 160)}.Bytes())
			send := func(data []byte) { c.peer.socket.Send(data, c.to, 0) }
			changed := slices.Clone(sealed)
			changed[40] ^= 1
			send(changed)
			changed = slices.Clone(sealed)
			changed[1] ^= 0x80 // the header is authenticated too
			send(changed)
			send(rtp.Seal(rtp.NewKeys(rtp.AES128SHA1Tag80))(c.peer.Packet.Bytes()))
			send(c.peer.Packet.Bytes())
			send(sealed[:20])
			wait(frame)
			require.Equal(t, uint64(5), c.s.Stats().Invalid)
			require.Equal(t, uint64(25), c.s.Stats().Received)
			send(sealed)
			send(sealed)
			wait(frame)
			require.Equal(t, uint64(26), c.s.Stats().Received)
			require.Equal(t, uint64(6), c.s.Stats().Invalid, "a replay")
			require.Zero(t, c.s.Stats().Duplicates)
			_ = p
		})
	})
	t.Run("an old recording of the call is a replay", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, _ := secured(t, rtp.AES128SHA1Tag80)
			var taped [][]byte
			for range 300 {
				c.peer.encode(friend)
				sealed := c.peer.seal(c.peer.Bytes())
				taped = append(taped, sealed)
				c.peer.socket.Send(sealed, c.to, 0)
				c.peer.next(160)
				wait(frame)
			}
			for _, p := range taped {
				c.peer.socket.Send(p, c.to, 0)
			}
			wait(time.Second)
			require.Equal(t, uint64(300), c.s.Stats().Received)
			require.Equal(t, uint64(300), c.s.Stats().Invalid)
		})
	})
	t.Run("a stranger with the wrong key is not latched behind NAT", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := params()
			p.NAT, p.Remote = true, netip.MustParseAddrPort("10.0.0.5:4000")
			p.SendKeys, p.ReceiveKeys = rtp.NewKeys(rtp.AES128SHA1Tag80), rtp.NewKeys(rtp.AES128SHA1Tag80)
			c := answered(t, p)
			evil := c.listen(netip.MustParseAddrPort("203.0.113.66:4000"))
			c.peer.Seq, c.peer.seal = 100, rtp.Seal(p.ReceiveKeys)
			late := c.peer
			c.peer = nil
			c.both(25, evil)
			c.peer = late
			c.both(50, evil)
			c.hearsFriend(t)
			require.Equal(t, there, c.s.Stats().From)
		})
	})
	t.Run("the rollover counter goes on through wraps and updates with the same keys", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, p := secured(t, rtp.AES128SHA1Tag80)
			c.peer.Seq = 65500
			c.both(100)
			same := p
			same.SendKeys, same.ReceiveKeys = clone(p.SendKeys), clone(p.ReceiveKeys)
			require.NoError(t, c.s.Update(same))
			c.both(50)
			c.hearsFriend(t)
			require.Equal(t, uint64(150), c.s.Stats().Received)
			open := rtp.Open(p.SendKeys)
			for _, a := range c.peer.socket.Received() {
				_, ok := open(a.Data)
				require.True(t, ok)
			}
		})
	})
	for name, keeps := range map[string]bool{"keeps": true, "resets": false} {
		t.Run("new keys are taken from a device that "+name+" its rollover counter", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, p := secured(t, rtp.AES128SHA1Tag80)
				c.peer.Seq = 65500
				c.both(100)
				next := p
				next.ReceiveKeys = rtp.NewKeys(rtp.AES128SHA1Tag80)
				require.NoError(t, c.s.Update(next))
				c.both(5) // still with the old ones
				require.Equal(t, uint64(105), c.s.Stats().Received)
				c.peer.seal = rtp.Seal(next.ReceiveKeys)
				if keeps {
					c.peer.seal(rtp.Packet{SSRC: c.peer.SSRC, Seq: 65000}.Bytes()) // so that its counter is at 1 too
					c.peer.seal(rtp.Packet{SSRC: c.peer.SSRC, Seq: 10}.Bytes())
				}
				c.both(50)
				c.hearsFriend(t)
				require.Equal(t, uint64(155), c.s.Stats().Received)
				require.Zero(t, c.s.Stats().Lost)
			})
		})
	}
	t.Run("new keys of ours, and another address, begin a new SSRC with counter 0", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, p := secured(t, rtp.AES128SHA1Tag80)
			c.both(25)
			first := c.peer.socket.Received()
			next := p
			next.SendKeys = rtp.NewKeys(rtp.AES128SHA1Tag80)
			require.NoError(t, c.s.Update(next))
			c.both(25)
			second := c.peer.socket.Received()
			a, _ := rtp.Parse(first[0].Data)
			b, _ := rtp.Parse(second[0].Data)
			require.NotEqual(t, a.SSRC, b.SSRC)
			require.Less(t, b.Seq, uint16(32768))
			_, ok := rtp.Open(next.SendKeys)(second[0].Data)
			require.True(t, ok)

			moved := next
			moved.Remote = netip.MustParseAddrPort("203.0.113.66:4000")
			other := c.listen(moved.Remote)
			require.NoError(t, c.s.Update(moved))
			c.both(25)
			third := other.socket.Received()
			d, _ := rtp.Parse(third[0].Data)
			require.NotEqual(t, b.SSRC, d.SSRC)
			_, ok = rtp.Open(next.SendKeys)(third[0].Data)
			require.True(t, ok)
		})
	})
	t.Run("RTCP is sealed and must be", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, p := secured(t, rtp.AES128SHA1Tag80)
			reports := c.listen(netip.AddrPortFrom(there.Addr(), there.Port()+1))
			c.both(500)
			got := reports.socket.Received()
			require.NotEmpty(t, got)
			require.False(t, rtp.ParseRTCP(got[0].Data) && len(got[0].Data)%4 == 0, "it is no plain report: it has an index and a tag")
			report := rtp.Report(c.peer.SSRC, 1, 0, 0, time.Now())
			reports.socket.Send(report, netip.AddrPortFrom(here, c.s.Port()+1), 0)
			wait(time.Second)
			require.Equal(t, uint64(1), c.s.Stats().Invalid)
			reports.socket.Send(rtp.SealRTCP(p.ReceiveKeys)(report), netip.AddrPortFrom(here, c.s.Port()+1), 0)
			wait(time.Second)
			require.Equal(t, uint64(1), c.s.Stats().Invalid)
		})
	})
	t.Run("keys for one way only are refused", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := prepare(t)
			p := params()
			p.SendKeys = rtp.NewKeys(rtp.AES128SHA1Tag80)
			require.ErrorIs(t, c.s.Start(p), rtp.ErrKeys)
		})
	})
}

func clone(k *rtp.Keys) *rtp.Keys { c := *k; return &c }

func TestKeys(t *testing.T) {
	k := rtp.NewKeys(rtp.AES128SHA1Tag80)
	same, err := rtp.ParseKeys("AES_CM_128_HMAC_SHA1_80", k.Inline())
	require.NoError(t, err)
	require.True(t, k.Equal(same))
	require.False(t, k.Equal(rtp.NewKeys(rtp.AES128SHA1Tag80)))
	require.False(t, k.Equal(nil))
	_, err = rtp.ParseKeys("AES_CM_128_HMAC_SHA1_32", k.Inline()+"|2^31")
	require.NoError(t, err, "a lifetime is no matter")
	_, err = rtp.ParseKeys("AES_CM_128_HMAC_SHA1_32", strings.TrimRight(k.Inline(), "="))
	require.NoError(t, err)
	for _, bad := range [][2]string{
		{"AES_256_CM_HMAC_SHA1_80", k.Inline()}, {"", k.Inline()},
		{"AES_CM_128_HMAC_SHA1_80", strings.TrimPrefix(k.Inline(), "inline:")},
		{"AES_CM_128_HMAC_SHA1_80", k.Inline() + "|2^31|1:1"},
		{"AES_CM_128_HMAC_SHA1_80", k.Inline() + ";" + k.Inline()},
		{"AES_CM_128_HMAC_SHA1_80", "inline:AAAA"},
		{"AES_CM_128_HMAC_SHA1_80", "inline:%%%"},
	} {
		_, err := rtp.ParseKeys(bad[0], bad[1])
		require.ErrorIs(t, err, rtp.ErrKeys, "%q", bad)
		require.NotContains(t, err.Error(), k.Inline()[7:], "keys are not told")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(format, k), fmt.Sprint(k.Key[0])+" "+fmt.Sprint(k.Key[1]))
		require.Equal(t, "AES_CM_128_HMAC_SHA1_80", fmt.Sprintf(format, k))
	}
}
