package sandbox

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// slack is how far ahead of its deadline a frame may be on a fast clock: timers are no finer.
const slack = time.Millisecond

// leg is one answered call. It is its own Media.
type leg struct {
	carrier *Carrier
	info    carrier.Info
	playout carrier.Playout
	feed    *carrier.Feed

	// The reader's alone.
	callee *calling
	ticks  int
	base   time.Time     // wall time of tick 0
	step   time.Duration // wall time of a frame
	timer  *time.Timer
	agent  audio.Frame

	mu     sync.Mutex
	tap    func(carrier.Tick)
	digits string // pressed by the agent, not heard by the callee yet
}

func newLeg(c *Carrier, info carrier.Info, callee *calling) *leg {
	return &leg{
		carrier: c, info: info, callee: callee, feed: carrier.NewFeed(),
		step: max(time.Duration(float64(audio.FrameTime)/c.c.Speed), 1),
	}
}

func (l *leg) Info() carrier.Info              { return l.info }
func (l *leg) Media() carrier.Media            { return l }
func (l *leg) Events() <-chan carrier.Event    { return l.feed.Events() }
func (l *leg) Clear(upTo uint64) time.Duration { return l.playout.Clear(upTo) }

// SetBackground is that of carrier.Backdrop.
func (l *leg) SetBackground(loop []int16) { l.playout.SetBackground(loop) }

// ReadFrame is that of carrier.Media, and the pacer of the leg.
func (l *leg) ReadFrame(f *carrier.Frame) error {
	if !l.wait() {
		return l.feed.Over()
	}
	l.ticks++
	f.At, f.Concealed = time.Duration(l.ticks)*audio.FrameTime, false
	l.playout.Fill(&l.agent, func(turn uint64, mark string) {
		l.feed.Emit(carrier.Event{Kind: carrier.EventMark, At: f.At, Turn: turn, Mark: mark})
	})
	l.mu.Lock()
	digits, tap := l.digits, l.tap
	l.digits = ""
	l.mu.Unlock()
	hungUp := l.callee.tick(&f.PCM, &l.agent, digits, func(e carrier.Event) {
		e.At = f.At
		l.feed.Emit(e)
	})
	if tap != nil {
		tap(carrier.Tick{At: f.At, Agent: &l.agent, Caller: &f.PCM})
	}
	if hungUp {
		l.end(&carrier.Ended{Class: carrier.ClassSuccess, Reason: carrier.ReasonHangup, Message: "The other side hung up."}, f.At)
	}
	return nil
}

// wait sleeps until the next frame is due; false after the end.
func (l *leg) wait() bool {
	now := time.Now()
	if l.base.IsZero() {
		l.base = now
	}
	ahead := l.base.Add(time.Duration(l.ticks+1) * l.step).Sub(now)
	if behind := -ahead - 25*l.step - 50*time.Millisecond; behind > 0 {
		l.base = l.base.Add(behind)
	}
	if ahead <= 0 || l.step < slack && ahead < slack {
		select {
		case <-l.feed.Done():
			return false
		default:
			return true
		}
	}
	if l.timer == nil {
		l.timer = time.NewTimer(ahead)
	} else {
		l.timer.Reset(ahead)
	}
	select {
	case <-l.timer.C:
		return true
	case <-l.feed.Done():
		l.timer.Stop()
		return false
	}
}

func (l *leg) Enqueue(turn uint64, pcm []int16) error {
	if ended := l.feed.Over(); ended != nil {
		return ended
	}
	return l.playout.Enqueue(turn, pcm)
}

func (l *leg) Mark(turn uint64, id string) error {
	if ended := l.feed.Over(); ended != nil {
		return ended
	}
	return l.playout.Mark(turn, id)
}

func (l *leg) Tap(f func(carrier.Tick)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tap = f
}

var digitString = regexp.MustCompile(`^[0-9*#A-Dw]{1,64}$`)

func (l *leg) SendDigits(_ context.Context, digits string) error {
	if !digitString.MatchString(digits) {
		return fmt.Errorf("%q are no digits", digits)
	}
	if ended := l.feed.Over(); ended != nil {
		return ended
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.digits += digits
	return nil
}

func (l *leg) Transfer(_ context.Context, target string) error {
	if ended := l.feed.Over(); ended != nil {
		return ended
	}
	l.end(&carrier.Ended{Class: carrier.ClassSuccess, Reason: carrier.ReasonTransferred, Message: "The call was transferred."}, 0)
	return nil
}

func (l *leg) Hangup(_ context.Context, cause carrier.Cause) error {
	l.end(&carrier.Ended{Class: carrier.ClassSuccess, Reason: carrier.ReasonAgentHangup, Message: "The agent hung up."}, 0)
	return nil
}

// end ends the leg once.
func (l *leg) end(ended *carrier.Ended, at time.Duration) {
	if l.feed.End(carrier.Event{At: at, Ended: ended}) {
		l.carrier.forget(l)
	}
}
