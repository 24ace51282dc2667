package sip_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sip"
)

// line is a carrier on the loopback.
type line struct {
	*sip.Carrier
	t      *testing.T
	stop   context.CancelFunc // of Run
	unplug context.CancelFunc // of Serve

	mu     sync.Mutex
	decide func(context.Context, carrier.Offer) carrier.Decision
	legs   chan carrier.Leg
	missed chan *carrier.Ended
	offers chan carrier.Offer
	served chan struct{}
	// stopped is closed after stop.
	stopped chan struct{}
}

// trunkAt is a trunk's URL on the loopback.
func trunkAt(port int, params ...string) string {
	return fmt.Sprintf("sip://127.0.0.1:%d?from=%%2B15005550100&%s", port, strings.Join(params, "&"))
}

// open starts a line with trunks. Inbound calls are answered at once and land in legs, unless decide says otherwise.
func open(t *testing.T, change func(*sip.Config), trunks ...string) *line {
	t.Helper()
	c := sip.Config{Addr: "127.0.0.1:0", RTPFrom: 40000, RTPTo: 60000, Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, text := range trunks {
		trunk, err := sip.ParseTrunk(text)
		require.NoError(t, err)
		c.Trunks = append(c.Trunks, trunk)
	}
	if change != nil {
		change(&c)
	}
	carrierLine, err := sip.New(c)
	require.NoError(t, err)
	require.NoError(t, carrierLine.Listen(t.Context()))
	l := &line{
		Carrier: carrierLine, t: t, legs: make(chan carrier.Leg, 1000), missed: make(chan *carrier.Ended, 1000),
		offers: make(chan carrier.Offer, 1000), served: make(chan struct{}), stopped: make(chan struct{}),
	}
	var running sync.WaitGroup
	run, stop := context.WithCancel(context.Background())
	serve, unplug := context.WithCancel(context.Background())
	l.stop, l.unplug = stop, unplug
	running.Go(func() { _ = carrierLine.Run(run); close(l.stopped) })
	running.Go(func() { _ = carrierLine.Serve(serve, l.accept); close(l.served) })
	t.Cleanup(func() { unplug(); <-l.served; stop(); running.Wait() })
	require.Eventually(t, func() bool { return carrierLine.Serving() }, 5*time.Second, time.Millisecond)
	return l
}

func (l *line) accept(ctx context.Context, o carrier.Offer) carrier.Decision {
	l.offers <- o
	l.mu.Lock()
	decide := l.decide
	l.mu.Unlock()
	if decide != nil {
		return decide(ctx, o)
	}
	return l.answer(0)
}

// answer takes a call after a ring.
func (l *line) answer(ring time.Duration) carrier.Decision {
	return carrier.Decision{
		Ring:   ring,
		Missed: func(e *carrier.Ended) { l.missed <- e },
		Run: func(_ context.Context, leg carrier.Leg) {
			l.legs <- leg
			for range leg.Events() { // until its end
			}
		},
	}
}

func (l *line) deciding(f func(context.Context, carrier.Offer) carrier.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decide = f
}

// addr is where the line hears.
func (l *line) addr() string { return l.Addr() }

var dials = 0
var dialMu sync.Mutex

// dial places a call.
func (l *line) dial(ring time.Duration, on func(carrier.Progress)) (carrier.Leg, *carrier.Ended) {
	l.t.Helper()
	dialMu.Lock()
	dials++
	id := fmt.Sprintf("call-%d-%d", time.Now().UnixNano(), dials)
	dialMu.Unlock()
	leg, err := l.Dial(l.t.Context(), carrier.Request{CallID: id, From: "+15005550100", To: "+15005550199", RingTimeout: ring}, on)
	if err != nil {
		return nil, carrier.EndedOf(err)
	}
	l.t.Cleanup(func() { _ = leg.Hangup(context.Background(), carrier.CauseNormal) })
	return leg, nil
}

// must places a call that is answered.
func (l *line) must() carrier.Leg {
	l.t.Helper()
	leg, ended := l.dial(10*time.Second, nil)
	require.Nil(l.t, ended)
	return leg
}

// next waits for something.
func next[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// ended waits for the end of a leg.
func ended(t *testing.T, leg carrier.Leg) *carrier.Ended {
	t.Helper()
	timeout := time.After(40 * time.Second)
	for {
		select {
		case e, ok := <-leg.Events():
			if !ok {
				return endOf(t, leg)
			}
			if e.Kind == carrier.EventEnded {
				return e.Ended
			}
		case <-timeout:
			t.Fatal("the leg does not end")
		}
	}
}

// endOf is the end of a leg whose events somebody else has had.
func endOf(t *testing.T, leg carrier.Leg) *carrier.Ended {
	t.Helper()
	var f carrier.Frame
	for range 10000 {
		if err := leg.Media().ReadFrame(&f); err != nil {
			return carrier.EndedOf(err)
		}
	}
	t.Fatal("the leg has not ended")
	return nil
}

// event waits for an event of a kind.
func event(t *testing.T, leg carrier.Leg, kind carrier.EventKind) carrier.Event {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-leg.Events():
			if !ok || e.Kind == carrier.EventEnded && kind != carrier.EventEnded {
				t.Fatalf("the leg ended (%v) before %s", e.Ended, kind)
			}
			if e.Kind == kind {
				return e
			}
		case <-timeout:
			t.Fatalf("there was no %s", kind)
		}
	}
}

// loudest listens for d and tells what part of the sound is a tone: its frequency by zero crossings, and its level.
func listen(t *testing.T, leg carrier.Leg, d time.Duration) (hz, level float64) {
	t.Helper()
	var f carrier.Frame
	var pcm []int16
	for range int(d / audio.FrameTime) {
		require.NoError(t, leg.Media().ReadFrame(&f))
		pcm = append(pcm, f.PCM[:]...)
	}
	return tone(pcm)
}

// tone is the frequency of what is loud in pcm.
func tone(pcm []int16) (hz, level float64) {
	crossings, loud := 0, 0
	var sum float64
	for i := 1; i < len(pcm); i++ {
		sum += float64(pcm[i]) * float64(pcm[i])
		if pcm[i] > 300 || pcm[i] < -300 {
			loud++
		}
		if (pcm[i-1] < 0) != (pcm[i] < 0) {
			crossings++
		}
	}
	if loud == 0 {
		return 0, 0
	}
	return float64(crossings) / 2 / (float64(len(pcm)) / 8000), math.Sqrt(sum / float64(len(pcm)))
}
