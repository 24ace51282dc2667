// Package bench measures the call engine as it is installed: how much of a turn is its own, how fast it falls silent, what
// a call costs. It needs no network, account or sound card: sandbox lines at the speed of a telephone carry talks with
// scripted providers, and a bare loop that only wakes up for each 20 ms is measured beside them, as what the machine could
// do at best.
package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
)

// Config of the measurements.
type Config struct {
	// Calls at once. Defaults to 50.
	Calls int
	// Span is how long each of the two load phases lasts. Defaults to 8 s.
	Span time.Duration
	// Delays of the scripted providers in the second phase: transcription after the end of an utterance, the model's first
	// sentence, the voice's first sound. Default to 100, 200 and 100 ms.
	Transcription, Model, Voice time.Duration
}

// Figure is one measured thing. Values are milliseconds if Unit is "ms".
type Figure struct {
	Name    string  `json:"name"`
	What    string  `json:"what"`
	Unit    string  `json:"unit"`
	P50     float64 `json:"p50"`
	P99     float64 `json:"p99,omitempty"`
	Goal50  float64 `json:"goal_p50,omitempty"`
	Goal99  float64 `json:"goal_p99,omitempty"`
	Samples int     `json:"samples"`
}

// Met tells whether the figure is within its goals; true without any.
func (f Figure) Met() bool {
	return f.Samples > 0 && (f.Goal50 == 0 || f.P50 <= f.Goal50) && (f.Goal99 == 0 || f.P99 <= f.Goal99)
}

// Distribution is a Figure of many times.
func Distribution(name, what string, all []time.Duration, goal50, goal99 time.Duration) Figure {
	return Figure{
		Name: name, What: what, Unit: "ms", P50: ms(percentile(all, 0.5)), P99: ms(percentile(all, 0.99)),
		Goal50: ms(goal50), Goal99: ms(goal99), Samples: len(all),
	}
}

// Talks measures conversations; it takes two spans and about eight seconds.
func Talks(ctx context.Context, c Config) ([]Figure, error) {
	if c.Calls <= 0 {
		c.Calls = 50
	}
	if c.Span <= 0 {
		c.Span = 8 * time.Second
	}
	if c.Transcription == 0 && c.Model == 0 && c.Voice == 0 {
		c.Transcription, c.Model, c.Voice = 100*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
	}
	var figures []Figure
	for _, part := range []func(context.Context, Config) ([]Figure, error){bare, ownShare, voiceToVoice, bargeIn, greeting, tenMinutes} {
		more, err := part(ctx, c)
		if err != nil {
			return figures, err
		}
		figures = append(figures, more...)
	}
	return figures, nil
}

// load is what a phase leaves behind. Times of turns are those of the stereo recording, which is how anybody can measure
// them, and on top of that how late the frame with the agent's first sound was against the one with the caller's last.
type load struct {
	own    []time.Duration // of turns: what is neither the pause that ends an utterance nor a provider's
	whole  []time.Duration // voice to voice
	late   []time.Duration // of the 20 ms ticks
	media  time.Duration
	wall   time.Duration
	cpu    time.Duration
	memory uint64 // heap and stacks, of all calls
}

// talker repeats a short sentence whenever the agent has finished one.
func talker() sandbox.Callee {
	c := sandbox.Callee{Steps: []sandbox.Step{{Wait: 300 * time.Millisecond, Say: "Hello?"}}}
	for range 200 {
		c.Steps = append(c.Steps, sandbox.Step{Hear: 200 * time.Millisecond, Say: "Please go on."})
	}
	return c
}

const number = "+15005559999"

// hold has calls at once with a speech, each for a span of media time.
func hold(ctx context.Context, c Config, calls int, callee sandbox.Callee, speech conversation.Speech, listen func(call int, tick carrier.Tick)) (l load, err error) {
	line := sandbox.New(sandbox.Config{Callees: map[string]sandbox.Callee{number: callee}})
	script := conversation.Script{AgentName: "Juniper", Greeting: "Hello there.", Limit: c.Span, SilenceTimeout: -1}
	var running sync.WaitGroup
	var mu sync.Mutex
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began, spent := time.Now(), used()
	middle := time.AfterFunc(c.Span/2, func() {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		mu.Lock()
		during = m
		mu.Unlock()
	})
	defer middle.Stop()
	for i := range calls {
		running.Go(func() {
			// Calls do not begin at the same moment in the world either.
			select {
			case <-time.After(time.Duration(i) * audio.FrameTime * 7 / time.Duration(calls)):
			case <-ctx.Done():
				return
			}
			leg, failed := line.Dial(ctx, carrier.Request{CallID: fmt.Sprint("bench-", i), To: number}, nil)
			if failed != nil {
				mu.Lock()
				err = failed
				mu.Unlock()
				return
			}
			var clock lateness
			leg.Media().Tap(func(tick carrier.Tick) {
				clock.tick(tick.At)
				if listen != nil {
					listen(i, tick)
				}
			})
			result, failed := conversation.Run(ctx, leg, script, speech, conversation.Hooks{})
			mu.Lock()
			defer mu.Unlock()
			if failed != nil && err == nil {
				err = failed
			}
			for _, turn := range result.Turns {
				if d := turn.Timing; d != nil && d.VoiceToVoice > 0 && d.Endpoint > 0 {
					late := clock.between(turn.Start-d.VoiceToVoice, turn.Start)
					l.own = append(l.own, max(d.VoiceToVoice-d.Endpoint+late, 0))
					l.whole = append(l.whole, d.VoiceToVoice+late)
				}
			}
			l.media += result.Duration
			l.late = append(l.late, clock.late...)
		})
	}
	running.Wait()
	l.wall, l.cpu = time.Since(began), used()-spent
	mu.Lock()
	defer mu.Unlock()
	if now := during.HeapInuse + during.StackInuse; now > before.HeapInuse+before.StackInuse {
		l.memory = now - before.HeapInuse - before.StackInuse
	}
	return l, cmpErr(err, ctx.Err())
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// lateness measures ticks against the first one's clock.
type lateness struct {
	zero time.Time
	late []time.Duration
}

func (l *lateness) tick(at time.Duration) {
	now := time.Now()
	if l.zero.IsZero() {
		l.zero = now.Add(-at)
	}
	l.late = append(l.late, max(now.Sub(l.zero)-at, 0))
}

// between is how much later the frame that begins at to was than the one that ends at from.
func (l *lateness) between(from, to time.Duration) time.Duration {
	i, j := int(from/audio.FrameTime)-1, int(to/audio.FrameTime)
	if i < 0 || j >= len(l.late) {
		return 0
	}
	return l.late[j] - l.late[i]
}

// bare is the ceiling: as many goroutines that wake up for each 20 ms and copy a frame both ways.
func bare(ctx context.Context, c Config) ([]Figure, error) {
	span := min(c.Span, 2*time.Second)
	var running sync.WaitGroup
	var mu sync.Mutex
	var late []time.Duration
	spent := used()
	for range c.Calls {
		running.Go(func() {
			var clock lateness
			var in, out audio.Frame
			begun := time.Now()
			timer := time.NewTimer(0)
			defer timer.Stop()
			for at := audio.FrameTime; at < span && ctx.Err() == nil; at += audio.FrameTime {
				timer.Reset(time.Until(begun.Add(at)))
				<-timer.C
				clock.tick(at)
				out = in
				in[0] = out[1] + 1
			}
			mu.Lock()
			late = append(late, clock.late...)
			mu.Unlock()
		})
	}
	running.Wait()
	perSecond := float64(used()-spent) / float64(time.Millisecond) / (span.Seconds() * float64(c.Calls))
	return []Figure{
		Distribution("bare_tick_lateness", "ceiling: lateness of a bare 20 ms loop", late, 0, 0),
		{Name: "bare_cpu", What: "ceiling: its CPU for a second of one call", Unit: "ms", P50: perSecond, Samples: c.Calls},
	}, ctx.Err()
}

// ownShare has providers that take no time: what is left of a turn besides the pause that ends it is the engine's.
func ownShare(ctx context.Context, c Config) ([]Figure, error) {
	l, err := hold(ctx, c, c.Calls, talker(), speech(0, 0, 0), nil)
	if err != nil {
		return nil, err
	}
	return []Figure{
		Distribution("engine_share", fmt.Sprintf("engine's own share of a turn, %d calls", c.Calls), l.own, 20*time.Millisecond, 40*time.Millisecond),
		Distribution("tick_lateness", "lateness of the calls' 20 ms", l.late, 0, 0),
		{Name: "cpu", What: "CPU for a second of one call", Unit: "ms", P50: ms(l.cpu) / l.media.Seconds(), Goal50: 5, Samples: c.Calls},
		{Name: "cores", What: fmt.Sprintf("cores for %d calls", c.Calls), Unit: "cores", P50: float64(l.cpu) / float64(l.wall), Samples: c.Calls},
		{Name: "memory", What: "memory of one call", Unit: "MB", P50: float64(l.memory) / float64(c.Calls) / 1e6, Goal50: 2, Samples: c.Calls},
	}, nil
}

// voiceToVoice has providers with the delays of good ones.
func voiceToVoice(ctx context.Context, c Config) ([]Figure, error) {
	l, err := hold(ctx, c, c.Calls, talker(), speech(c.Transcription, c.Model, c.Voice), nil)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("voice to voice, providers take %d/%d/%d ms", c.Transcription.Milliseconds(), c.Model.Milliseconds(), c.Voice.Milliseconds())
	return []Figure{Distribution("voice_to_voice", what, l.whole, 650*time.Millisecond, 0)}, nil
}

// bargeIn has callees that speak into a long answer, and measures on the line itself: from the first loud sample of the
// callee to the last of the agent.
func bargeIn(ctx context.Context, c Config) ([]Figure, error) {
	calls := min(c.Calls, 20)
	callee := sandbox.Callee{Steps: []sandbox.Step{
		{Wait: 300 * time.Millisecond, Say: "Hello?"}, {Hear: 300 * time.Millisecond, Say: "Tell me all."},
		{Onset: 800 * time.Millisecond, Say: "Wait, one moment, please, I have a question."}, {Wait: time.Hour},
	}}
	long := speech(0, 0, 0)
	long.Brain = brain{lines: []string{"Well, there is a great deal to tell about all of this, and it will take me quite a while until everything is said."}}
	ears := make([]interruption, calls)
	c.Span = 6 * time.Second
	if _, err := hold(ctx, c, calls, callee, long, func(call int, tick carrier.Tick) { ears[call].tick(tick) }); err != nil {
		return nil, err
	}
	var all []time.Duration
	for _, e := range ears {
		if e.onset > 0 && e.silent > e.onset {
			all = append(all, e.silent-e.onset)
		}
	}
	return []Figure{Distribution("barge_in", "barge-in: from the onset to silence on the line", all, 300*time.Millisecond, 300*time.Millisecond)}, nil
}

// interruption watches a line for the third utterance of the callee.
type interruption struct {
	voiced  time.Duration // last voice of the callee
	count   int
	onset   time.Duration
	silent  time.Duration // end of the agent's last sound after it
	settled bool
}

func (e *interruption) tick(tick carrier.Tick) {
	if audio.Power(tick.Caller[:]) > 1000 {
		if e.count == 0 || tick.At-e.voiced > 600*time.Millisecond {
			if e.count++; e.count == 3 {
				e.onset = tick.At - audio.FrameTime
			}
		}
		e.voiced = tick.At
	}
	if e.onset == 0 || e.settled {
		return
	}
	if audio.Power(tick.Agent[:]) > 100 {
		e.silent = tick.At
	} else if tick.At-max(e.silent, e.onset) > 400*time.Millisecond {
		e.settled = true // what comes later is the answer
	}
}

// greeting answers inbound calls whose greeting was made while it rang.
func greeting(ctx context.Context, c Config) ([]Figure, error) {
	calls := min(c.Calls, 20)
	studio := voice.New(voice.Config{Placeholder: true})
	line := sandbox.New(sandbox.Config{Voices: studio, Callees: map[string]sandbox.Callee{number: {Steps: []sandbox.Step{{Wait: time.Hour}}}}})
	speech := scripted.New(studio)
	script := conversation.Script{Greeting: "Hello, this is Juniper.", Limit: time.Second}
	var mu sync.Mutex
	var all []time.Duration
	var wanted atomic.Int32
	serving, stop := context.WithCancel(ctx)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = line.Serve(serving, func(ctx context.Context, _ carrier.Offer) carrier.Decision {
			speech.Warm(ctx, script)
			return carrier.Decision{Run: func(ctx context.Context, leg carrier.Leg) {
				result, _ := conversation.Run(context.WithoutCancel(ctx), leg, script, speech, conversation.Hooks{})
				mu.Lock()
				all = append(all, result.Latency.Greeting)
				mu.Unlock()
			}}
		})
	}()
	for wanted.Load() < int32(calls) && ctx.Err() == nil {
		if err := line.Ring(ctx, number, "+15005550000"); err != nil {
			time.Sleep(time.Millisecond) // Serve has not begun yet
			continue
		}
		wanted.Add(1)
	}
	_ = line.Drain(ctx)
	stop()
	<-served
	goal := 150 * time.Millisecond
	return []Figure{Distribution("greeting", "from the answer to the greeting's first sound", all, goal, goal)}, ctx.Err()
}

// tenMinutes is how fast a long call runs when nobody has to wait for its time.
func tenMinutes(ctx context.Context, c Config) ([]Figure, error) {
	began := time.Now()
	length, err := Call(ctx, 10*time.Minute)
	if err != nil {
		return nil, err
	}
	wall := time.Since(began)
	return []Figure{{Name: "ten_minutes", What: fmt.Sprintf("a call of %v in virtual time", length.Round(time.Second)), Unit: "ms",
		P50: ms(wall), Goal50: 1000, Samples: 1}}, nil
}

// Call has one call of a length on a line that runs as fast as it can, and returns how long it was in its own time.
func Call(ctx context.Context, length time.Duration) (time.Duration, error) {
	callee := talker()
	for range 2 {
		callee.Steps = append(callee.Steps, callee.Steps...)
	}
	line := sandbox.New(sandbox.Config{Speed: 1e6, Callees: map[string]sandbox.Callee{number: callee}})
	leg, err := line.Dial(ctx, carrier.Request{CallID: "long", To: number}, nil)
	if err != nil {
		return 0, err
	}
	result, err := conversation.Run(ctx, leg, conversation.Script{Greeting: "Hello there.", Limit: length}, speech(0, 0, 0), conversation.Hooks{})
	return result.Duration, err
}

func used() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
