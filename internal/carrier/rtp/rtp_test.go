package rtp_test

import (
	"encoding/binary"
	"math"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

func TestMain(m *testing.M) {
	if calls, err := strconv.Atoi(os.Getenv(farEnv)); err == nil {
		if err := beFar(calls); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

const frame = audio.FrameTime

var (
	here  = netip.MustParseAddr("192.0.2.1")
	there = netip.MustParseAddrPort("198.51.100.7:4000")
	// there2 is another port of the same address.
	there2 = netip.MustParseAddrPort("198.51.100.7:4002")
)

// call is one stream and the other side of it, in a network in memory and virtual time.
type call struct {
	t      *testing.T
	net    *rtp.Network
	ports  *rtp.Ports
	s      *rtp.Stream
	to     netip.AddrPort // where the stream hears
	peer   *peer
	events []carrier.Event
	ended  *carrier.Ended
	heard  []carrier.Frame
	ticks  []carrier.Tick
	agent  []int16
	caller []int16
}

// peer sends RTP.
type peer struct {
	rtp.Packet
	socket interface {
		Send([]byte, netip.AddrPort, time.Duration)
		Received() []rtp.Arrived
	}
	to   netip.AddrPort
	seal func([]byte) []byte
}

func (c *call) listen(at netip.AddrPort) *peer {
	socket, err := c.net.Listen(at)
	require.NoError(c.t, err)
	return &peer{socket: socket, to: c.to, Packet: rtp.Packet{SSRC: uint32(at.Port()) << 8, Seq: 65530, Timestamp: math.MaxUint32 - 1000}}
}

// send sends sound as one packet, delay later than now.
func (p *peer) send(pcm []int16, delay time.Duration) {
	p.encode(pcm)
	p.raw(delay)
	p.next(len(pcm))
}

func (p *peer) encode(pcm []int16) {
	if p.Type == uint8(rtp.PCMA) {
		p.Payload = audio.EncodeAlaw(nil, pcm)
	} else {
		p.Payload = audio.EncodeUlaw(nil, pcm)
	}
}

// raw sends the packet as it is.
func (p *peer) raw(delay time.Duration) {
	data := p.Bytes()
	if p.seal != nil {
		data = p.seal(data)
	}
	p.socket.Send(data, p.to, delay)
}

func (p *peer) next(samples int) {
	p.Seq++
	p.Timestamp += uint32(samples)
	p.Marker = false
}

// got parses what has arrived.
func (p *peer) got() (all []rtp.Packet) {
	for _, a := range p.socket.Received() {
		parsed, ok := rtp.Parse(a.Data)
		if !ok {
			panic("not RTP")
		}
		all = append(all, parsed)
	}
	return all
}

func params() rtp.Params {
	return rtp.Params{Remote: there, Accept: []rtp.Codec{rtp.PCMU, rtp.PCMA}, SendDigits: 101, ReceiveDigits: 101}
}

// prepare makes a call before its answer. Call it in a bubble.
func prepare(t *testing.T) *call {
	c := &call{t: t, net: rtp.NewNetwork()}
	var err error
	c.ports, err = rtp.New(c.net.Config(rtp.Config{From: 20000, To: 20100}))
	require.NoError(t, err)
	c.s, err = c.ports.Stream(rtp.Handlers{
		Event: func(e carrier.Event) {
			turns.Lock()
			defer turns.Unlock()
			c.events = append(c.events, e)
		},
		Timeout: func(e *carrier.Ended) {
			turns.Lock()
			defer turns.Unlock()
			c.ended = e
		},
	})
	require.NoError(t, err)
	c.to = netip.AddrPortFrom(here, c.s.Port())
	c.peer = c.listen(there)
	t.Cleanup(func() { require.NoError(t, c.ports.Close()) })
	return c
}

// answered is a call that is live, with somebody who reads and taps it.
func answered(t *testing.T, p rtp.Params) *call {
	c := prepare(t)
	c.s.Media().Tap(func(k carrier.Tick) {
		turns.Lock()
		defer turns.Unlock()
		c.ticks = append(c.ticks, carrier.Tick{At: k.At})
		c.agent, c.caller = append(c.agent, k.Agent[:]...), append(c.caller, k.Caller[:]...)
	})
	require.NoError(t, c.s.Start(p))
	go func() {
		var f carrier.Frame
		for c.s.Media().ReadFrame(&f) == nil {
			turns.Lock()
			c.heard = append(c.heard, f)
			turns.Unlock()
		}
	}()
	return c
}

// bubble runs f in virtual time and closes the call's ports before the bubble ends.
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

// turns orders what the lane writes down and what the test looks at while time does not pass.
var turns sync.Mutex

// wait lets time pass.
func wait(d time.Duration) {
	turns.Lock()
	//lint:ignore SA2001 what the test has read, it has read before
	turns.Unlock()
	time.Sleep(d)
	synctest.Wait()
}

// voice is d of a voice-like sound: harmonics of a pitch that moves, in syllables.
func voice(d time.Duration) []int16 {
	pcm := make([]int16, audio.Samples(d))
	phase := 0.0
	for i := range pcm {
		t := float64(i) / audio.Rate
		phase += 2 * math.Pi * (140 + 25*math.Sin(2*math.Pi*1.7*t)) / audio.Rate
		sum := 0.0
		for h := 1; h <= 8; h++ {
			sum += math.Sin(float64(h)*phase) / float64(h)
		}
		pcm[i] = int16(5000 * sum * (0.6 + 0.4*math.Sin(2*math.Pi*3*t)))
	}
	return pcm
}

// through is sound after G.711.
func through(pcm []int16) []int16 { return audio.DecodeUlaw(nil, audio.EncodeUlaw(nil, pcm)) }

// find is where needle begins in hay.
func find(hay, needle []int16) int {
	for i := 0; i+len(needle) <= len(hay); i++ {
		if slices.Equal(hay[i:i+len(needle)], needle) {
			return i
		}
	}
	return -1
}

func (c *call) kinds() (kinds []carrier.EventKind) {
	for _, e := range c.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func (c *call) digits() string {
	var all strings.Builder
	for _, e := range c.events {
		all.WriteString(e.Digits)
	}
	return all.String()
}

func TestStreamSends(t *testing.T) {
	t.Run("sound every 20 ms without a pause, numbers and timestamps in order", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			tone := voice(200 * time.Millisecond)
			require.NoError(t, c.s.Media().Enqueue(1, tone))
			require.NoError(t, c.s.Media().Mark(1, "end"))
			wait(time.Second)
			arrived := c.peer.socket.Received()
			require.Len(t, arrived, 50)
			var sound []int16
			var last rtp.Packet
			for i, a := range arrived {
				p, ok := rtp.Parse(a.Data)
				require.True(t, ok)
				require.Equal(t, c.to, a.From, "symmetric: from the port that is in our SDP")
				require.Equal(t, i == 0, p.Marker, "we do not suppress silence")
				require.Equal(t, uint8(rtp.PCMU), p.Type)
				require.Len(t, p.Payload, 160)
				if i > 0 {
					require.Equal(t, frame, a.At.Sub(arrived[i-1].At))
					require.Equal(t, last.Seq+1, p.Seq)
					require.Equal(t, last.Timestamp+160, p.Timestamp)
					require.Equal(t, last.SSRC, p.SSRC)
				}
				last = p
				sound = audio.DecodeUlaw(sound, p.Payload)
			}
			require.Equal(t, through(tone), sound[:len(tone)])
			require.Zero(t, audio.Power(sound[len(tone):]))
			require.Equal(t, []carrier.EventKind{carrier.EventMark}, c.kinds())
			require.Equal(t, 200*time.Millisecond, c.events[0].At)
			require.Equal(t, tone, c.agent[:len(tone)], "the tap has what was sent")
		})
	})
	t.Run("A-law where that was agreed on", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := params()
			p.Codec = rtp.PCMA
			c := answered(t, p)
			tone := voice(20 * time.Millisecond)
			require.NoError(t, c.s.Media().Enqueue(1, tone))
			wait(frame)
			got := c.peer.got()
			require.Equal(t, uint8(8), got[0].Type)
			require.Equal(t, audio.EncodeAlaw(nil, tone), got[0].Payload)
		})
	})
	t.Run("each stream with numbers of its own", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			a, b := answered(t, params()), answered(t, params())
			wait(frame)
			x, y := a.peer.got()[0], b.peer.got()[0]
			require.NotEqual(t, x.SSRC, y.SSRC)
			require.NotEqual(t, x.Timestamp, y.Timestamp)
		})
	})
	t.Run("nothing while it is held, and goes on where it stopped", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			tone := voice(100 * time.Millisecond)
			require.NoError(t, c.s.Media().Enqueue(1, tone))
			wait(40 * time.Millisecond)
			before := c.peer.got()
			hold := params()
			hold.Direction = rtp.RecvOnly
			require.NoError(t, c.s.Update(hold))
			wait(time.Second)
			require.Empty(t, c.peer.got())
			require.NoError(t, c.s.Update(params()))
			wait(60 * time.Millisecond)
			after := c.peer.got()
			require.Len(t, after, 3)
			require.True(t, after[0].Marker)
			require.Equal(t, before[1].Seq+1, after[0].Seq)
			require.Equal(t, before[1].Timestamp+51*160, after[0].Timestamp, "time went on")
			require.Equal(t, audio.EncodeUlaw(nil, tone[2*160:3*160]), after[0].Payload)
		})
	})
	t.Run("nothing to an address that says hold, or to none", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			for _, remote := range []netip.AddrPort{{}, netip.MustParseAddrPort("0.0.0.0:4000"), netip.AddrPortFrom(there.Addr(), 0)} {
				p := params()
				p.Remote = remote
				c := answered(t, p)
				wait(time.Second)
				require.Zero(t, c.s.Stats().Sent)
				require.Len(t, c.heard, 50, "media time goes on")
			}
		})
	})
	t.Run("to a new address after an update", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			wait(frame)
			other := c.listen(netip.MustParseAddrPort("203.0.113.9:7000"))
			p := params()
			p.Remote = netip.MustParseAddrPort("203.0.113.9:7000")
			require.NoError(t, c.s.Update(p))
			c.peer.got()
			wait(time.Second)
			require.Empty(t, c.peer.got())
			require.Len(t, other.got(), 50)
		})
	})
}

func TestEarlyMedia(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := prepare(t)
		require.NoError(t, c.s.Early(params()))
		for range 50 {
			c.peer.send(voice(frame), 0)
			wait(frame)
		}
		early := c.peer.got()
		require.Len(t, early, 50, "silence opens ways through NAT")
		require.Zero(t, audio.Power(audio.DecodeUlaw(nil, early[49].Payload)))
		require.Zero(t, c.s.Stats().Received, "what comes before the answer is not the call's")
		c.peer.send(voice(frame), 0) // waits in the socket at the answer
		require.NoError(t, c.s.Start(params()))
		require.Zero(t, c.s.At())
		wait(100 * time.Millisecond)
		require.Equal(t, 100*time.Millisecond, c.s.At())
		require.Zero(t, c.s.Stats().Received)
		late := c.peer.got()
		require.Equal(t, early[49].Seq+1, late[0].Seq)
		require.Equal(t, early[49].Timestamp+160, late[0].Timestamp)
	})
}

func TestStreamHears(t *testing.T) {
	t.Run("sound as it was sent, in the reader and in the tap", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			sent := voice(2 * time.Second)
			for f := range slices.Chunk(sent, 160) {
				c.peer.send(f, 3*time.Millisecond)
				wait(frame)
			}
			wait(200 * time.Millisecond)
			var heard []int16
			for i, f := range c.heard {
				require.Equal(t, time.Duration(i+1)*frame, f.At)
				heard = append(heard, f.PCM[:]...)
			}
			at := find(heard, through(sent))
			require.GreaterOrEqual(t, at, 0)
			require.LessOrEqual(t, audio.Duration(at), 60*time.Millisecond)
			require.Equal(t, heard, c.caller)
			s := c.s.Stats()
			require.Equal(t, uint64(100), s.Received)
			require.Zero(t, s.Lost+s.Late+s.Duplicates+s.Strangers+s.Invalid)
			require.Equal(t, there, s.From)
		})
	})
	t.Run("both codecs, changed in the middle", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			sent := voice(time.Second)
			for f := range slices.Chunk(sent, 160) {
				c.peer.Type = 8 - c.peer.Type
				c.peer.send(f, 0)
				wait(frame)
			}
			wait(100 * time.Millisecond)
			require.Greater(t, snr(c.caller, sent, 0), 30.0)
			require.Equal(t, uint64(50), c.s.Stats().Received)
		})
	})
	t.Run("packets of 10, 30 and 60 ms", func(t *testing.T) {
		for _, size := range []time.Duration{10, 30, 60} {
			bubble(t, func(t *testing.T) {
				c := answered(t, params())
				sent := voice(1200 * time.Millisecond)
				for f := range slices.Chunk(sent, audio.Samples(size*time.Millisecond)) {
					c.peer.send(f, 0)
					wait(size * time.Millisecond)
				}
				wait(200 * time.Millisecond)
				require.Greater(t, snr(c.caller, sent, 2400), 30.0, "once the delay has settled")
				require.LessOrEqual(t, c.s.Stats().Concealed, uint64(12))
			})
		}
	})
	t.Run("no sound of payload types that were not agreed on, of no RTP and of broken packets", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := params()
			p.Accept = nil
			c := answered(t, p)
			c.peer.Type = 8 // only µ-law is accepted
			c.peer.send(voice(frame), 0)
			c.peer.Type = 96
			c.peer.send(voice(frame), 0)
			c.peer.socket.Send([]byte("hello"), c.to, 0)
			c.peer.socket.Send([]byte{0x8f, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9}, c.to, 0)                                   // 15 CSRC in no room
			c.peer.socket.Send([]byte{0x90, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 255, 255}, c.to, 0)                   // an extension without end
			c.peer.socket.Send(append([]byte{0xa0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9}, 200), c.to, 0)                      // more padding than payload
			c.peer.socket.Send(slices.Concat([]byte{0x40, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9}, make([]byte, 160)), c.to, 0) // version 1
			wait(100 * time.Millisecond)
			require.Zero(t, c.s.Stats().Received)
			require.Equal(t, uint64(7), c.s.Stats().Invalid)
			require.Zero(t, audio.Power(c.caller))
		})
	})
	t.Run("an end for the reader, at once and ever after", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			m := c.s.Media()
			tone := voice(time.Second)
			require.NoError(t, m.Enqueue(1, tone))
			wait(200 * time.Millisecond)
			over := &carrier.Ended{Class: carrier.ClassSuccess, Reason: carrier.ReasonHangup}
			c.s.Close(over)
			c.s.Close(&carrier.Ended{})
			synctest.Wait()
			var f carrier.Frame
			for _, err := range []error{m.ReadFrame(&f), m.Enqueue(1, tone), m.Mark(1, "x"), c.s.SendDigits(t.Context(), "1"), c.s.Update(params()), c.s.Start(params())} {
				require.Same(t, over, carrier.EndedOf(err))
			}
			require.Equal(t, 200*time.Millisecond, m.Clear(1), "what was heard is still known")
			ticks := len(c.ticks)
			wait(time.Second)
			require.Len(t, c.ticks, ticks)
		})
	})
	t.Run("the newest half second for a reader that was away", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := prepare(t)
			require.NoError(t, c.s.Start(params()))
			wait(10 * time.Second)
			var f carrier.Frame
			require.NoError(t, c.s.Media().ReadFrame(&f))
			require.Equal(t, 9520*time.Millisecond, f.At)
			for range 24 {
				require.NoError(t, c.s.Media().ReadFrame(&f))
			}
			require.Equal(t, 10*time.Second, f.At)
		})
	})
}

// snr is how well sent, from a sample on, is contained in got, in dB, at the best delay up to 200 ms.
func snr(got, sent []int16, from int) float64 {
	got, want := got[from:], sent[from:]
	best := math.Inf(-1)
	for shift := 0; shift+len(want) <= len(got) && shift < 1600; shift++ {
		var signal, noise float64
		for i := 0; i < len(want); i += 3 {
			s, d := float64(want[i]), float64(want[i])-float64(got[i+shift])
			signal, noise = signal+s*s, noise+d*d
		}
		best = max(best, 10*math.Log10(signal/max(noise, 1)))
	}
	return best
}

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
