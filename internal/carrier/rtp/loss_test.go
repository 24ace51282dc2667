package rtp_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

// line sends sound in packets of 20 ms, one every 20 ms; mangle decides about each: how much later it arrives, how often,
// or never (copies 0).
func (c *call) line(pcm []int16, mangle func(i int) (delay time.Duration, copies int)) {
	if len(c.ticks) == 0 {
		wait(7 * time.Millisecond) // not in step with our own ticks
	}
	for i := range len(pcm) / 160 {
		delay, copies := mangle(i)
		c.peer.encode(pcm[160*i:][:160])
		for range copies {
			c.peer.raw(delay)
		}
		c.peer.next(160)
		wait(frame)
	}
	wait(400 * time.Millisecond)
}

func steady(int) (time.Duration, int) { return 0, 1 }

func TestJitterAndLoss(t *testing.T) {
	random := func() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
	run := func(name string, d time.Duration, mangle func(i int) (time.Duration, int), check func(t *testing.T, c *call, sent []int16)) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := answered(t, params())
				sent := voice(d)
				c.line(sent, mangle)
				check(t, c, through(sent))
			})
		})
	}
	whole := func(t *testing.T, c *call, sent []int16) {
		require.GreaterOrEqual(t, find(c.caller, sent[8000:]), 0, "after a second nothing is missing or added")
	}
	r := random()
	run("packets that come up to 15 ms late cost nothing", 5*time.Second, func(int) (time.Duration, int) {
		return rand.N(15 * time.Millisecond), 1
	}, func(t *testing.T, c *call, sent []int16) {
		whole(t, c, sent)
		require.Zero(t, c.s.Stats().Late)
		require.LessOrEqual(t, c.s.Stats().Delay, 60*time.Millisecond)
	})
	run("packets that come up to 80 ms late, out of order, are put right", 20*time.Second, func(int) (time.Duration, int) {
		return time.Duration(r.Int64N(int64(80 * time.Millisecond))), 1
	}, func(t *testing.T, c *call, sent []int16) {
		s := c.s.Stats()
		require.LessOrEqual(t, s.Late, uint64(30), "of a thousand")
		require.LessOrEqual(t, s.Concealed, uint64(60))
		require.Zero(t, s.Lost)
		require.InDelta(t, 30, s.Jitter.Seconds()*1000, 20)
	})
	run("repetitions are heard once", 2*time.Second, func(i int) (time.Duration, int) {
		return 0, 1 + i%3
	}, func(t *testing.T, c *call, sent []int16) {
		whole(t, c, sent)
		require.Equal(t, uint64(99), c.s.Stats().Duplicates)
		require.Equal(t, uint64(100), c.s.Stats().Received)
	})
	run("two packets in each other's place are put right", 3*time.Second, func(i int) (time.Duration, int) {
		if i%10 == 5 {
			return 25 * time.Millisecond, 1
		}
		return 0, 1
	}, func(t *testing.T, c *call, sent []int16) {
		whole(t, c, sent)
		require.Zero(t, c.s.Stats().Lost)
	})
	run("lost packets are made up, and the delay does not grow by them", 10*time.Second, func(i int) (time.Duration, int) {
		if r.Float64() < 0.05 {
			return 0, 0
		}
		return 0, 1
	}, func(t *testing.T, c *call, sent []int16) {
		s := c.s.Stats()
		require.InDelta(t, 25, float64(s.Lost), 15)
		require.InDelta(t, float64(s.Lost), float64(s.Concealed), 3+float64(s.Lost)/10)
		require.LessOrEqual(t, s.Delay, 60*time.Millisecond)
		concealed := 0
		for _, f := range c.heard {
			if f.Concealed {
				concealed++
			}
		}
		require.Equal(t, int(s.Concealed), concealed, "frames tell it")
		// What is made up is worth something: 5 % lost at 0 dB each would be 13 dB.
		got := snr(c.caller, sent, 8000)
		t.Logf("5 %% lost: %.1f dB", got)
		require.Greater(t, got, 16.0)
	})
	run("a hole of 2 s is silence after 60 ms, without a buzz", 4*time.Second, func(i int) (time.Duration, int) {
		if i >= 50 && i < 150 {
			return 0, 0
		}
		return 0, 1
	}, func(t *testing.T, c *call, sent []int16) {
		require.Zero(t, audio.Power(c.caller[audio.Samples(1200*time.Millisecond):audio.Samples(2900*time.Millisecond)]))
		require.GreaterOrEqual(t, find(c.caller, sent[160*151:]), 0, "and then it goes on whole")
		require.LessOrEqual(t, c.s.Stats().Concealed, uint64(6))
		require.LessOrEqual(t, c.s.Stats().Delay, 60*time.Millisecond)
	})
	run("a stall of 300 ms that all comes after is played, nothing lost", 12*time.Second, func(i int) (time.Duration, int) {
		if i >= 100 && i < 115 {
			return time.Duration(115-i) * frame, 1
		}
		return 0, 1
	}, func(t *testing.T, c *call, sent []int16) {
		require.Zero(t, c.s.Stats().Late)
		require.GreaterOrEqual(t, find(c.caller, sent[160*101:160*118]), 0, "what was waited for is whole")
		require.LessOrEqual(t, c.s.Stats().Delay, 260*time.Millisecond, "and the delay goes down again")
	})
	t.Run("delay goes down again in pauses when the jitter is over", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			rough := random()
			c.line(voice(3*time.Second), func(int) (time.Duration, int) { return time.Duration(rough.Int64N(int64(150 * time.Millisecond))), 1 })
			rest := make([]int16, audio.Samples(8*time.Second)) // silence
			c.line(rest, steady)
			c.line(voice(time.Second), func(i int) (time.Duration, int) {
				if i == 49 {
					require.LessOrEqual(t, c.s.Stats().Delay, 40*time.Millisecond)
				}
				return 0, 1
			})
		})
	})
	t.Run("a sender whose clock is 0.5 % off is followed for a minute", func(t *testing.T) {
		for _, step := range []time.Duration{19900 * time.Microsecond, 20100 * time.Microsecond} {
			bubble(t, func(t *testing.T) {
				c := answered(t, params())
				pcm := make([]int16, 160)
				for range 3000 {
					c.peer.send(pcm, 0)
					wait(step)
				}
				s := c.s.Stats()
				require.LessOrEqual(t, s.Delay, 80*time.Millisecond)
				require.LessOrEqual(t, s.Late, uint64(5))
			})
		}
	})
}

func TestJumps(t *testing.T) {
	t.Run("sequence numbers and timestamps go round", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params()) // the peer begins 6 packets before both ends
			sent := voice(time.Second)
			c.line(sent, steady)
			require.GreaterOrEqual(t, find(c.caller, through(sent)), 0)
			require.Zero(t, c.s.Stats().Lost)
		})
	})
	jump := func(name string, change func(p *peer)) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := answered(t, params())
				c.line(voice(time.Second), steady)
				change(c.peer)
				sent := voice(2 * time.Second)[8000:]
				c.line(sent, steady)
				require.GreaterOrEqual(t, find(c.caller, through(sent[480:])), 0)
				require.LessOrEqual(t, c.s.Stats().Lost, uint64(2))
			})
		})
	}
	jump("timestamps that jump forward are followed", func(p *peer) { p.Timestamp += 1 << 28 })
	jump("timestamps that jump back are followed", func(p *peer) { p.Timestamp -= 1 << 20 })
	jump("timestamps that jump with a marker are followed at once", func(p *peer) { p.Timestamp += 1 << 28; p.Marker = true })
	jump("a sender that begins anew with other numbers is followed", func(p *peer) { p.Timestamp, p.Seq = 77, 9000 })
	t.Run("a single packet from another time changes nothing", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, params())
			sent := voice(time.Second)
			c.line(sent[:4000], func(i int) (time.Duration, int) { return 0, 1 })
			c.line(nil, nil)
			c.peer.Timestamp += 3200 // the pause of line
			before := c.peer.Timestamp
			c.peer.Timestamp += 1 << 25
			c.peer.send(voice(frame), 0)
			c.peer.Timestamp = before
			c.line(sent[4000:], steady)
			require.GreaterOrEqual(t, find(c.caller, through(sent[4160:])), 0)
		})
	})
	t.Run("the other side's silence suppression is silence, and speech after it is whole", func(t *testing.T) {
		for _, timeGoesOn := range []bool{true, false} {
			bubble(t, func(t *testing.T) {
				c := answered(t, params())
				for i := range 10 {
					sent := voice(time.Duration(i+1) * 300 * time.Millisecond)
					sent = sent[len(sent)-2400:]
					for f := range slices.Chunk(sent, 160) {
						c.peer.send(f, 0)
						wait(frame)
					}
					// Comfort noise once, then nothing for some seconds.
					c.peer.Type, c.peer.Payload = 13, []byte{40}
					c.peer.raw(0)
					c.peer.next(0)
					c.peer.Type = 0
					pause := time.Duration(i) * 700 * time.Millisecond
					wait(pause)
					require.Zero(t, audio.Power(c.caller[max(len(c.caller)-160, 0):])*float64(min(i, 1)))
					if timeGoesOn {
						c.peer.Timestamp += uint32(audio.Samples(pause))
					}
					c.peer.Marker = true
					require.GreaterOrEqual(t, find(c.caller, through(sent[:1600])), 0, i)
				}
				require.LessOrEqual(t, c.s.Stats().Concealed, uint64(40))
				require.LessOrEqual(t, c.s.Stats().Delay, 60*time.Millisecond)
				require.Zero(t, c.s.Stats().Lost)
			})
		}
	})
}

func TestConcealment(t *testing.T) {
	// One frame in ten is lost; how well what is made up fits what was lost, beside silence (0 dB).
	t.Run("a lost frame of a steady vowel is made up nearly as it was", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c := answered(t, rtp.Params{Remote: there})
			vowel := audio.Tone(150, 0.2, 4*time.Second)
			for i, s := range audio.Tone(450, 0.1, 4*time.Second) {
				vowel[i] += s
			}
			c.line(vowel, func(i int) (time.Duration, int) {
				if i > 20 && i%10 == 0 {
					return 0, 0
				}
				return 0, 1
			})
			got := snr(c.caller, vowel[:24000], 8000)
			t.Logf("10 %% lost: %.1f dB", got)
			require.Greater(t, got, 20.0, "silence instead would be 10")
		})
	})
}
