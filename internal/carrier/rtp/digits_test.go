package rtp_test

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

// event sends a telephone event packet.
func (p *peer) event(code byte, end bool, duration int) {
	typ, payload := p.Type, p.Payload
	p.Type, p.Payload = 101, binary.BigEndian.AppendUint16([]byte{code, 10}, uint16(duration))
	if end {
		p.Payload[1] |= 0x80
	}
	p.raw(0)
	p.Seq++
	p.Type, p.Payload = typ, payload
}

// press is a key pressed for some packets of 20 ms and its three ends.
func (c *call) press(code byte, packets int) {
	for i := range packets {
		c.peer.event(code, false, 160*(i+1))
		wait(frame)
	}
	for range 3 {
		c.peer.event(code, true, 160*packets)
	}
	c.peer.Timestamp += uint32(160 * packets)
}

func TestDigitsHeard(t *testing.T) {
	t.Run("all keys, each once", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			for code := range byte(16) {
				c.press(code, 5)
				c.both(3)
			}
			require.Equal(t, "0123456789*#ABCD", c.digits())
			require.Equal(t, 20*time.Millisecond, c.events[0].At, "with its first packet")
		})
	})
	t.Run("the same key twice is two presses", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			c.press(5, 4)
			c.both(2)
			c.press(5, 4)
			c.press(5, 4) // without a pause
			wait(100 * time.Millisecond)
			require.Equal(t, "555", c.digits())
		})
	})
	t.Run("a press of ten seconds is one", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			for i := range 500 {
				if i == 400 {
					c.peer.Timestamp += 64000 // RFC 4733 §2.5.1.3: a long event goes on in a new segment
				}
				c.peer.event(7, false, min(160*(i+1), 65535))
				wait(frame)
			}
			c.peer.event(7, true, 16000)
			wait(frame)
			require.Equal(t, "7", c.digits())
		})
	})
	t.Run("lost packets do not hide a press, nor double it", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			c.both(5)
			c.peer.Seq += 5
			c.peer.event(1, true, 800) // only an end came
			c.peer.Timestamp += 1600
			wait(frame)
			c.peer.event(2, false, 160) // only the beginning
			c.peer.Seq += 7
			c.peer.Timestamp += 1600
			wait(100 * time.Millisecond)
			c.press(2, 3)
			wait(frame)
			require.Equal(t, "122", c.digits())
		})
	})
	t.Run("late and repeated packets of an old press are no new one", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			old := *c.peer
			c.press(1, 4)
			wait(100 * time.Millisecond)
			c.press(2, 4)
			wait(frame)
			old.Seq -= 5
			old.event(1, true, 640)
			old.raw(0)
			wait(100 * time.Millisecond)
			require.Equal(t, "12", c.digits())
		})
	})
	t.Run("a device that counts the timestamp up within a press presses once", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			for range 10 {
				c.peer.event(9, false, 160)
				c.peer.Timestamp += 160
				wait(frame)
			}
			require.Equal(t, "9", c.digits())
		})
	})
	t.Run("no other events, no short ones, none of strangers, none that were not agreed on", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			c.both(5)
			c.peer.event(16, true, 800) // flash
			c.peer.Type, c.peer.Payload = 101, []byte{1, 0x8a}
			c.peer.raw(0)
			evil := c.listen(there2)
			evil.event(1, true, 800)
			wait(100 * time.Millisecond)
			require.Empty(t, c.digits())
			p := params()
			p.ReceiveDigits = 0
			require.NoError(t, c.s.Update(p))
			c.press(1, 4)
			wait(100 * time.Millisecond)
			require.Empty(t, c.digits())
		})
	})
	t.Run("there is silence while a key is pressed, not a made up voice", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			c.both(25)
			c.press(1, 20)
			require.Less(t, audio.Power(c.caller[len(c.caller)-160*10:]), 1.0)
			c.both(25)
			c.hearsFriend(t)
			require.Zero(t, c.s.Stats().Lost)
		})
	})
}

func TestDigitsSent(t *testing.T) {
	t.Run("as events: steady timestamp, growing duration, three ends", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			tone := voice(time.Second)
			require.NoError(t, c.s.Media().Enqueue(1, tone))
			wait(100 * time.Millisecond)
			c.peer.got()
			began := time.Now()
			require.NoError(t, c.s.SendDigits(t.Context(), "1#D"))
			require.InDelta(t, 3*180, time.Since(began).Milliseconds(), 25)
			synctest.Wait()
			var events []rtp.Packet
			codes := map[uint32]byte{}
			ends := 0
			var last rtp.Packet
			for _, p := range c.peer.got() {
				if last.SSRC != 0 {
					require.Equal(t, last.Seq+1, p.Seq)
				}
				last = p
				if p.Type != 101 {
					continue
				}
				events = append(events, p)
				require.Equal(t, codes[p.Timestamp] == 0, p.Marker, "the marker begins a press")
				codes[p.Timestamp] = p.Payload[0] + 1
				if p.Payload[1]&0x80 != 0 {
					ends++
					require.Equal(t, uint16(800), binary.BigEndian.Uint16(p.Payload[2:]))
				}
			}
			require.Len(t, events, 3*8)
			require.Equal(t, 9, ends)
			require.Len(t, codes, 3)
			require.Equal(t, byte(1), events[0].Payload[0])
			require.Equal(t, byte(11), events[8].Payload[0])
			require.Equal(t, byte(15), events[16].Payload[0])
			require.Equal(t, uint16(160), binary.BigEndian.Uint16(events[0].Payload[2:]))
			require.Equal(t, byte(10), events[0].Payload[1])
			// The turn waited and goes on without a missing sample.
			wait(time.Second)
			var spoken []int16
			for _, s := range c.agent {
				if s != 0 {
					spoken = append(spoken, s)
				}
			}
			var want []int16
			for _, s := range tone {
				if s != 0 {
					want = append(want, s)
				}
			}
			require.Equal(t, want, spoken)
		})
	})
	t.Run("as tones where there are no events", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			p := params()
			p.SendDigits = 0
			c := answered(t, p)
			require.NoError(t, c.s.SendDigits(t.Context(), "5"))
			wait(0)
			pressed := c.agent[160*1 : 160*5]
			for _, hz := range []float64{770, 1336} {
				require.Greater(t, goertzel(pressed, hz), 100*goertzel(pressed, 1100), hz)
			}
			for _, q := range c.peer.got() {
				require.Equal(t, uint8(0), q.Type)
			}
		})
	})
	t.Run("w is half a second", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			began := time.Now()
			require.NoError(t, c.s.SendDigits(t.Context(), "ww"))
			require.InDelta(t, 1000, time.Since(began).Milliseconds(), 25)
		})
	})
	t.Run("two at a time one after the other", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			first := make(chan error)
			go func() { first <- c.s.SendDigits(t.Context(), "11") }()
			synctest.Wait()
			require.NoError(t, c.s.SendDigits(t.Context(), "22"))
			require.NoError(t, <-first)
			require.Equal(t, "1122", sent(c))
		})
	})
	t.Run("until the context ends, with a whole last press", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, c.s.SendDigits(ctx, "12345"), context.DeadlineExceeded)
			wait(time.Second)
			require.Equal(t, "12", sent(c))
			require.NoError(t, c.s.SendDigits(t.Context(), "9"), "and the line is free again")
		})
	})
	t.Run("until the call ends", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			over := make(chan error)
			go func() { over <- c.s.SendDigits(t.Context(), strings.Repeat("1", 64)) }()
			wait(time.Second)
			c.s.Close(&carrier.Ended{Reason: carrier.ReasonHangup})
			require.Equal(t, carrier.ReasonHangup, carrier.EndedOf(<-over).Reason)
		})
	})
	t.Run("not if they are none", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			for _, digits := range []string{"", "1 2", "x", strings.Repeat("1", 65)} {
				require.Error(t, c.s.SendDigits(t.Context(), digits), digits)
			}
		})
	})
}

// sent are the keys that the peer got.
func sent(c *call) string {
	var keys strings.Builder
	last := uint32(0)
	for _, p := range c.peer.got() {
		if p.Type == 101 && p.Timestamp != last {
			last = p.Timestamp
			keys.WriteByte("0123456789*#ABCD"[p.Payload[0]])
		}
	}
	return keys.String()
}

func goertzel(pcm []int16, hz float64) float64 {
	w := 2 * math.Cos(2*math.Pi*hz/audio.Rate)
	var a, b float64
	for _, s := range pcm {
		a, b = float64(s)+w*a-b, a
	}
	return a*a + b*b - w*a*b
}
