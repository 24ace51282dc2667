package rtp_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

// Voices that can be told apart: the other side speaks at 300 Hz, a stranger at 1900.
var (
	friend   = audio.Tone(300, 0.3, frame)
	stranger = audio.Tone(1900, 0.3, frame)
)

// both sends a packet of everybody every 20 ms for n frames, as the test says; nil does not send.
func (c *call) both(n int, others ...*peer) {
	for range n {
		if c.peer != nil {
			c.peer.send(friend, 0)
		}
		for _, o := range others {
			o.send(stranger, time.Millisecond)
		}
		wait(frame)
	}
}

// loud is the power of the last n frames at a frequency, as heard.
func (c *call) loud(hz float64, n int) float64 {
	pcm := c.caller[len(c.caller)-160*n:]
	probe := audio.Tone(hz, 1, audio.Duration(len(pcm)))
	quarter := audio.Tone(hz, 1, audio.Duration(len(pcm)+int(8000/hz/4)))[int(8000/hz/4):]
	var re, im float64
	for i, s := range pcm {
		re += float64(s) * float64(probe[i]) / 32768
		im += float64(s) * float64(quarter[i]) / 32768
	}
	return (re*re + im*im) / float64(len(pcm)) / float64(len(pcm))
}

func (c *call) hearsFriend(t *testing.T) {
	t.Helper()
	require.Greater(t, c.loud(300, 10), 1e6)
	require.Less(t, c.loud(1900, 10), 1e4)
}

func TestStrangersAreNotHeard(t *testing.T) {
	nat := params()
	nat.NAT = true
	nat.Remote = netip.MustParseAddrPort("10.0.0.5:4000") // what it thinks it is
	elsewhere := netip.MustParseAddrPort("203.0.113.66:4000")
	samePlace := there2

	for name, p := range map[string]rtp.Params{"with the SDP's address": params(), "behind NAT": nat} {
		for kind, at := range map[string]netip.AddrPort{"from another address": elsewhere, "from another port of the same address": samePlace} {
			t.Run("on a live call "+name+", "+kind, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					c := answered(t, p)
					c.both(25)
					s := c.s.Stats()
					require.Equal(t, there, s.From)
					evil := c.listen(at)
					evil.Packet = c.peer.Packet // it has listened: the same SSRC, numbers and timestamps
					c.peer.socket.Received()
					c.both(50, evil, evil)
					c.hearsFriend(t)
					require.Equal(t, there, c.s.Stats().From)
					require.Empty(t, evil.got(), "nothing of ours is sent to it")
					require.Len(t, c.peer.got(), 50)
					require.GreaterOrEqual(t, c.s.Stats().Strangers, uint64(100))
					// Nor does it get the call when the other side is silent for a while.
					silent := c.peer
					c.peer = nil
					c.both(100, evil)
					require.Zero(t, c.loud(1900, 50))
					c.peer = silent
					c.peer.Timestamp += 16000
					c.both(25, evil)
					c.hearsFriend(t)
				})
			})
		}
		t.Run("on a live call "+name+", with its address and port forged", func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := answered(t, p)
				c.both(25)
				forged := &peer{socket: c.peer.socket, to: c.to, Packet: rtp.Packet{SSRC: 666, Seq: 1, Timestamp: 1}}
				c.both(50, forged)
				c.hearsFriend(t)
				require.GreaterOrEqual(t, c.s.Stats().Strangers, uint64(50))
			})
		})
	}
	t.Run("before the other side's first packet", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			evil := c.listen(elsewhere)
			late := c.peer
			c.peer = nil
			c.both(50, evil)
			require.Zero(t, c.loud(1900, 25))
			c.peer = late
			c.both(25, evil)
			c.hearsFriend(t)
		})
	})
	t.Run("on the port after it, where RTCP goes", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			evil := c.listen(elsewhere)
			evil.socket.Send(rtp.Report(1, 2, 0, 0, time.Now()), netip.AddrPortFrom(c.to.Addr(), c.to.Port()+1), 0)
			wait(time.Second)
			require.Equal(t, uint64(1), c.s.Stats().Strangers)
		})
	})
}

func TestLatch(t *testing.T) {
	nat := params()
	nat.NAT = true
	nat.Remote = netip.MustParseAddrPort("10.0.0.5:4000")
	t.Run("behind NAT the first steady source within two seconds is taken, and sent to", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, nat)
			private := c.listen(nat.Remote)
			wait(time.Second)
			require.Len(t, private.got(), 50, "until then we send where the SDP says")
			c.both(25)
			c.hearsFriend(t)
			require.Equal(t, there, c.s.Stats().From)
			require.Len(t, c.peer.got(), 25-2, "from the third packet on")
		})
	})
	t.Run("behind NAT nobody is taken later", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, nat)
			wait(2100 * time.Millisecond)
			c.both(50)
			require.Zero(t, c.s.Stats().Received)
			require.Empty(t, c.peer.got())
		})
	})
	t.Run("without NAT nobody else is taken at all", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := params()
			p.Remote = netip.MustParseAddrPort("10.0.0.5:4000")
			c := answered(t, p)
			c.both(50)
			require.Zero(t, c.s.Stats().Received)
		})
	})
	t.Run("without NAT the host that signals may sound from itself, and is sent to", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := params()
			p.Remote, p.Peer = netip.MustParseAddrPort("10.0.0.5:4000"), there.Addr()
			c := answered(t, p)
			c.both(25)
			c.hearsFriend(t)
			require.Equal(t, there, c.s.Stats().From)
			require.Len(t, c.peer.got(), 25-2, "from the third packet on")
		})
	})
	t.Run("a source that changes its SSRC with each packet, or sends other payload types, is not steady", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, nat)
			c.peer.Type = 96
			c.both(10)
			c.peer.Type = 0
			for range 40 {
				c.peer.SSRC++
				c.both(1)
			}
			require.Zero(t, c.s.Stats().Received)
		})
	})
	t.Run("who came first is not pushed aside by a second one", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, nat)
			evil := c.listen(netip.MustParseAddrPort("203.0.113.66:4000"))
			c.both(25, evil)
			c.hearsFriend(t)
		})
	})
	t.Run("a gateway that sends from another port than it announced is taken in the first two seconds", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := params()
			p.Remote = netip.AddrPortFrom(there.Addr(), 5000)
			c := answered(t, p)
			listens := c.listen(p.Remote)
			c.both(25)
			c.hearsFriend(t)
			require.Len(t, listens.got(), 25, "and sent to where it announced")
		})
	})
	t.Run("the SDP's own address comes before another one in the first two seconds", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			evil := c.listen(netip.AddrPortFrom(there.Addr(), 4002))
			late := c.peer
			c.peer = nil
			c.both(20, evil)
			require.Greater(t, c.loud(1900, 5), 1e6)
			c.peer = late
			c.both(40, evil)
			c.hearsFriend(t)
		})
	})
	t.Run("another SSRC of the same address is followed when the old one is quiet", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			c.both(25)
			c.peer.Packet = rtp.Packet{SSRC: 4711, Seq: 100, Timestamp: 5}
			c.both(60)
			c.hearsFriend(t)
			require.LessOrEqual(t, c.s.Stats().Strangers, uint64(28))
			require.LessOrEqual(t, c.s.Stats().Lost, uint64(2))
		})
	})
	t.Run("a call that was answered on hold is latched when it is taken back", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			hold := nat
			hold.Direction = rtp.Inactive
			c := answered(t, hold)
			wait(time.Minute)
			require.NoError(t, c.s.Update(nat))
			c.both(25)
			c.hearsFriend(t)
			require.Equal(t, there, c.s.Stats().From)
		})
	})
	t.Run("an update with another address opens it, one with the same does not", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			c.both(25)
			other := c.listen(netip.MustParseAddrPort("203.0.113.66:4000"))
			require.NoError(t, c.s.Update(params()))
			c.both(25, other)
			c.hearsFriend(t)
			p := params()
			p.Remote = netip.MustParseAddrPort("203.0.113.66:4000")
			require.NoError(t, c.s.Update(p))
			c.both(25, other)
			require.Greater(t, c.loud(1900, 10), 1e6)
			require.Less(t, c.loud(300, 10), 1e4)
		})
	})
}

func TestWatchdog(t *testing.T) {
	t.Run("a call that never hears anything ends after 30 s", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			wait(29900 * time.Millisecond)
			require.Nil(t, c.ended)
			wait(200 * time.Millisecond)
			require.Equal(t, "media_timeout", c.ended.Reason)
			require.Equal(t, []string{"media_stalled"}, names(c))
			require.Equal(t, 5*time.Second, c.events[0].At)
			c.ended = nil
			wait(time.Minute)
			require.Nil(t, c.ended, "it is told once")
		})
	})
	t.Run("a call whose sound stops ends 15 s later; sound before that recovers it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			c.both(25)
			wait(14 * time.Second)
			require.Nil(t, c.ended)
			c.peer.Timestamp += 14 * 8000
			c.both(25)
			require.Equal(t, []string{"media_stalled", "media_recovered"}, names(c))
			wait(14900 * time.Millisecond)
			require.Nil(t, c.ended)
			wait(200 * time.Millisecond)
			require.Equal(t, "media_timeout", c.ended.Reason)
		})
	})
	t.Run("not while it is on hold, and the time begins anew after it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			for _, d := range []rtp.Direction{rtp.RecvOnly, rtp.Inactive, rtp.SendOnly} {
				c := answered(t, params())
				c.both(25)
				hold := params()
				hold.Direction = d
				require.NoError(t, c.s.Update(hold))
				wait(10 * time.Minute)
				require.Nil(t, c.ended)
				require.Empty(t, c.events)
				require.NoError(t, c.s.Update(params()))
				wait(14900 * time.Millisecond)
				require.Nil(t, c.ended)
				wait(200 * time.Millisecond)
				require.NotNil(t, c.ended)
			}
		})
	})
	t.Run("comfort noise and RTCP are signs of life, strangers are none", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			c.both(25)
			for range 6 {
				wait(10 * time.Second)
				c.peer.Type, c.peer.Payload = 13, []byte{40}
				c.peer.raw(0)
				c.peer.next(0)
			}
			require.Nil(t, c.ended)
			for range 6 {
				wait(10 * time.Second)
				c.peer.socket.Send(rtp.Report(c.peer.SSRC, 1, 0, 0, time.Now()), netip.AddrPortFrom(c.to.Addr(), c.to.Port()+1), 0)
			}
			require.Nil(t, c.ended)
			evil := c.listen(netip.MustParseAddrPort("203.0.113.66:4000"))
			c.peer = nil
			c.both(900, evil)
			require.NotNil(t, c.ended)
		})
	})
	t.Run("a handler may close the stream", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := prepare(t)
			s, err := c.ports.Stream(rtp.Handlers{})
			require.NoError(t, err)
			s.Close(nil)
			require.NoError(t, c.s.Start(params()))
			wait(31 * time.Second)
			c.s.Close(c.ended)
			require.Error(t, c.s.Media().Mark(1, "x"))
		})
	})
}

func names(c *call) (names []string) {
	for _, k := range c.kinds() {
		names = append(names, string(k))
	}
	return names
}
