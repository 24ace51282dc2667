package sandbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const person = "+15005550006"

func dial(t *testing.T, c *sandbox.Carrier, to string) carrier.Leg {
	leg, err := c.Dial(t.Context(), carrier.Request{CallID: "c1", From: "+15005550000", To: to}, nil)
	require.NoError(t, err)
	return leg
}

// frames reads n frames and returns what was heard.
func frames(t *testing.T, leg carrier.Leg, n int) (pcm []int16) {
	var f carrier.Frame
	for range n {
		require.NoError(t, leg.Media().ReadFrame(&f))
		pcm = append(pcm, f.PCM[:]...)
	}
	return pcm
}

// events takes what is there.
func events(leg carrier.Leg) (all []carrier.Event) {
	for {
		select {
		case e, ok := <-leg.Events():
			if !ok {
				return all
			}
			all = append(all, e)
		default:
			return all
		}
	}
}

func TestDialing(t *testing.T) {
	t.Run("tells of ringing and takes its time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began, rang := time.Now(), time.Duration(-1)
			leg, err := sandbox.New(sandbox.Config{}).Dial(t.Context(), carrier.Request{CallID: "c1", From: "+1", To: person}, func(p carrier.Progress) {
				require.Equal(t, carrier.ProgressRinging, p)
				rang = time.Since(began)
			})
			require.NoError(t, err)
			require.Zero(t, rang)
			require.Equal(t, 2*time.Second, time.Since(began))
			info := leg.Info()
			require.Equal(t, carrier.Outbound, info.Direction)
			require.Equal(t, "+1", info.From)
			require.Equal(t, person, info.To)
			require.True(t, info.Elastic)
			require.JSONEq(t, `{"sandbox":"sandbox-c1"}`, string(info.State))
		})
	})
	t.Run("waits for the ring time where nobody answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			for _, ring := range []time.Duration{0, 7 * time.Second} {
				began := time.Now()
				_, err := sandbox.New(sandbox.Config{}).Dial(t.Context(), carrier.Request{To: "+15005550001", RingTimeout: ring}, nil)
				require.Equal(t, carrier.ReasonNoAnswer, carrier.EndedOf(err).Reason)
				require.Equal(t, map[bool]time.Duration{true: 30 * time.Second, false: ring}[ring == 0], time.Since(began))
			}
		})
	})
	t.Run("is no answer when it would have been answered later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, err := sandbox.New(sandbox.Config{}).Dial(t.Context(), carrier.Request{To: person, RingTimeout: time.Second}, nil)
			require.Equal(t, carrier.ReasonNoAnswer, carrier.EndedOf(err).Reason)
		})
	})
	t.Run("is taken back when its context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := sandbox.New(sandbox.Config{}).Dial(ctx, carrier.Request{To: person}, nil)
			require.Equal(t, carrier.ReasonCanceled, carrier.EndedOf(err).Reason)
		})
	})
	t.Run("follows the speed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			leg := dial(t, sandbox.New(sandbox.Config{Speed: 100}), person)
			require.Equal(t, 20*time.Millisecond, time.Since(began))
			frames(t, leg, 500) // ten seconds
			require.InDelta(t, 0.12, time.Since(began).Seconds(), 0.003)
		})
	})
}

func TestDialLogHasOneLineForEachDialBeforeItRings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dials")
	c := sandbox.New(sandbox.Config{DialLog: path, Speed: 1000})
	var dials sync.WaitGroup
	for _, id := range []string{"a", "b", "c", "d"} {
		dials.Go(func() {
			_, err := c.Dial(t.Context(), carrier.Request{CallID: id, To: "+15005550002"}, func(carrier.Progress) {
				log, err := os.ReadFile(path)
				if err != nil || !strings.Contains(string(log), "\t"+id+"\t+15005550002\n") {
					t.Errorf("%s rings but is not in the log: %q, %v", id, log, err)
				}
			})
			if carrier.EndedOf(err).Reason != carrier.ReasonBusy {
				t.Error(err)
			}
		})
	}
	dials.Wait()
	log, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(string(log), "\n"))

	_, err = sandbox.New(sandbox.Config{DialLog: t.TempDir()}).Dial(t.Context(), carrier.Request{To: person}, func(carrier.Progress) {
		t.Error("it rang without a line in the log")
	})
	require.Equal(t, carrier.ClassServer, carrier.EndedOf(err).Class)
}

func TestLeg(t *testing.T) {
	t.Run("plays by absolute deadlines and makes up for a late reader", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			leg := dial(t, sandbox.New(sandbox.Config{}), person)
			began := time.Now()
			frames(t, leg, 10)
			require.Equal(t, 200*time.Millisecond, time.Since(began))
			time.Sleep(100 * time.Millisecond)
			frames(t, leg, 5)
			require.Equal(t, 300*time.Millisecond, time.Since(began), "a burst")
			frames(t, leg, 1)
			require.Equal(t, 320*time.Millisecond, time.Since(began))
			time.Sleep(time.Minute)
			frames(t, leg, 100)
			require.Greater(t, time.Since(began), time.Minute+time.Second, "it slips instead of a minute's burst")
		})
	})
	t.Run("has both directions in the tap at the same time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			leg := dial(t, sandbox.New(sandbox.Config{}), person)
			var agent, caller []int16
			var last time.Duration
			leg.Media().Tap(func(tick carrier.Tick) {
				agent, caller = append(agent, tick.Agent[:]...), append(caller, tick.Caller[:]...)
				require.Equal(t, last+audio.FrameTime, tick.At)
				last = tick.At
			})
			tone := audio.Tone(300, 0.5, time.Second)
			require.NoError(t, leg.Media().Enqueue(1, tone))
			require.NoError(t, leg.Media().Mark(1, "end"))
			heard := frames(t, leg, 100)
			require.Equal(t, heard, caller)
			require.Equal(t, tone, agent[:len(tone)])
			require.Greater(t, audio.Power(heard), 1000.0, "the person said hello")
			for _, e := range events(leg) {
				if e.Kind == carrier.EventMark {
					require.Equal(t, carrier.Event{Kind: carrier.EventMark, At: time.Second, Turn: 1, Mark: "end"}, e)
					return
				}
			}
			t.Fatal("no mark")
		})
	})
	t.Run("captions grow word by word and end with the whole line", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			leg := dial(t, sandbox.New(sandbox.Config{}), "+15005550004")
			before := ""
			var f carrier.Frame
			for before != "Thank you for calling Harbor Clinic. For appointments, press 1. For billing, press 2." {
				require.NoError(t, leg.Media().ReadFrame(&f))
				for _, e := range events(leg) {
					require.Equal(t, carrier.EventCaption, e.Kind)
					require.True(t, strings.HasPrefix(e.Caption.Text, before))
					before = e.Caption.Text
				}
			}
		})
	})
	t.Run("ends once, with one last event, whoever hangs up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			leg := dial(t, sandbox.New(sandbox.Config{}), person)
			frames(t, leg, 3)
			read := make(chan error)
			go func() { var f carrier.Frame; read <- leg.Media().ReadFrame(&f) }()
			require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
			require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
			require.Equal(t, carrier.ReasonAgentHangup, carrier.EndedOf(<-read).Reason, "a waiting reader is woken")
			all := events(leg)
			require.Equal(t, carrier.EventEnded, all[len(all)-1].Kind)
			_, open := <-leg.Events()
			require.False(t, open)
			for _, err := range []error{leg.Media().Enqueue(1, []int16{1}), leg.Media().Mark(1, "x"), leg.SendDigits(t.Context(), "1"), leg.Transfer(t.Context(), "+1")} {
				require.Equal(t, carrier.ReasonAgentHangup, carrier.EndedOf(err).Reason)
			}
		})
	})
	t.Run("keeps its events bounded when nobody receives them, and the end is not lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			leg := dial(t, sandbox.New(sandbox.Config{}), "+15005550004")
			var f carrier.Frame
			for leg.Media().ReadFrame(&f) == nil {
			}
			all := events(leg)
			require.LessOrEqual(t, len(all), 64)
			require.Equal(t, carrier.ReasonHangup, all[len(all)-1].Ended.Reason, "a menu without an answer hangs up")
		})
	})
	t.Run("a person with a silent agent asks twice and hangs up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			leg := dial(t, sandbox.New(sandbox.Config{}), person)
			asked, at := 0, time.Duration(0)
			var f carrier.Frame
			for leg.Media().ReadFrame(&f) == nil {
				at = f.At
				for _, e := range events(leg) {
					if e.Caption.Final && strings.Contains(e.Caption.Text, "anybody there") {
						asked++
					}
				}
			}
			require.Equal(t, 2, asked)
			require.Less(t, at, time.Minute)
		})
	})
	t.Run("refuses digits that are none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			leg := dial(t, sandbox.New(sandbox.Config{}), person)
			for _, digits := range []string{"", "1 2", "x", strings.Repeat("1", 65)} {
				require.Error(t, leg.SendDigits(t.Context(), digits), digits)
			}
			require.NoError(t, leg.SendDigits(t.Context(), "12*#Aw"))
		})
	})
}

func TestInbound(t *testing.T) {
	serve := func(t *testing.T, c *sandbox.Carrier, accept func(context.Context, carrier.Offer) carrier.Decision) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Serve(ctx, accept) }()
		synctest.Wait()
		return func() { cancel(); require.NoError(t, <-done) }
	}
	t.Run("an accepted call rings, is answered and runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, ran := sandbox.New(sandbox.Config{}), false
			stop := serve(t, c, func(_ context.Context, o carrier.Offer) carrier.Decision {
				require.Equal(t, "+14155550123", o.From)
				require.Equal(t, "+15005550000", o.To)
				return carrier.Decision{Ring: 3 * time.Second, Run: func(ctx context.Context, leg carrier.Leg) {
					ran = true
					require.Equal(t, o.ID, leg.Info().ID)
					require.Equal(t, carrier.Inbound, leg.Info().Direction)
					<-ctx.Done()
					require.NoError(t, leg.Hangup(ctx, carrier.CauseNormal))
				}}
			})
			began := time.Now()
			require.NoError(t, c.Ring(t.Context(), "+14155550123", "+15005550000"))
			require.Equal(t, 3*time.Second, time.Since(began))
			stop() // ends the call's context and waits for it
			require.True(t, ran)
			require.NoError(t, c.Drain(t.Context()))
		})
	})
	t.Run("a refused call is told so", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := sandbox.New(sandbox.Config{})
			stop := serve(t, c, func(context.Context, carrier.Offer) carrier.Decision {
				return carrier.Decision{Refuse: carrier.CauseUnknown}
			})
			err := c.Ring(t.Context(), "+1", "+2")
			require.Equal(t, carrier.ReasonDeclined, carrier.EndedOf(err).Reason)
			require.ErrorContains(t, err, "unknown_number")
			stop()
			require.Equal(t, carrier.ClassServer, carrier.EndedOf(c.Ring(t.Context(), "+1", "+2")).Class, "nobody serves")
		})
	})
	t.Run("a caller who gives up while it rings is missed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := sandbox.New(sandbox.Config{})
			var missed *carrier.Ended
			stop := serve(t, c, func(context.Context, carrier.Offer) carrier.Decision {
				return carrier.Decision{Ring: time.Minute, Run: func(context.Context, carrier.Leg) { t.Error("it ran") }, Missed: func(e *carrier.Ended) { missed = e }}
			})
			defer stop()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			require.Equal(t, carrier.ReasonCanceled, carrier.EndedOf(c.Ring(ctx, "+1", "+2")).Reason)
			require.NotNil(t, missed)
		})
	})
}

func TestDrainRefusesNewCallsAndWaitsForTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sandbox.New(sandbox.Config{})
		leg := dial(t, c, person)
		drained := make(chan error, 1)
		go func() { drained <- c.Drain(t.Context()) }()
		synctest.Wait()
		_, err := c.Dial(t.Context(), carrier.Request{To: person}, nil)
		require.Equal(t, carrier.ReasonDraining, carrier.EndedOf(err).Reason)
		require.Equal(t, carrier.ReasonDraining, carrier.EndedOf(c.Ring(t.Context(), "+1", "+2")).Reason)
		synctest.Wait()
		require.Empty(t, drained)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, c.Drain(short), context.DeadlineExceeded)
		require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
		require.NoError(t, <-drained)
		require.NoError(t, c.Reap(t.Context(), leg.Info().State))
	})
}

func TestFailedDialsAreTyped(t *testing.T) {
	_, err := sandbox.New(sandbox.Config{Speed: 1e4}).Dial(t.Context(), carrier.Request{To: "+15005550002"}, nil)
	var ended *carrier.Ended
	require.True(t, errors.As(err, &ended))
	require.Equal(t, 486, ended.Code)
}
