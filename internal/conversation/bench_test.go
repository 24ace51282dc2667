package conversation_test

import (
	"context"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
)

// endless talks until the limit ends the call.
func endless() sandbox.Callee {
	var c sandbox.Callee
	for range 100 {
		c.Steps = append(c.Steps, hears("Tell me more about that, please."))
	}
	return c
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// runCalls holds n calls at once, d of media time each, with both sides recorded into nothing.
func runCalls(b *testing.B, n int, speed float64, d time.Duration) (media time.Duration) {
	studio := voice.New(voice.Config{Placeholder: true})
	line := sandbox.New(sandbox.Config{Voices: studio, Speed: speed, Callees: map[string]sandbox.Callee{number: endless()}})
	speech := scripted.New(studio)
	script := juniper
	script.Limit, script.SilenceTimeout = d, -1
	script.Goals = []string{"one goal", "another goal", "and a third", "and a fourth", "and a fifth"}
	var calls sync.WaitGroup
	var mu sync.Mutex
	for range n {
		calls.Go(func() {
			leg, err := line.Dial(context.Background(), carrier.Request{CallID: "c", To: number}, nil)
			if err != nil {
				b.Error(err)
				return
			}
			samples := 0
			leg.Media().Tap(func(tick carrier.Tick) { samples += int(tick.Agent[0]&1) + int(tick.Caller[0]&1) })
			result, err := conversation.Run(context.Background(), leg, script, speech, conversation.Hooks{})
			if err != nil {
				b.Error(err)
			}
			mu.Lock()
			media += result.Duration
			mu.Unlock()
		})
	}
	calls.Wait()
	return media
}

// BenchmarkCallSecond is the engine's cost of a second of one call: sandbox line, both detectors, turns, playout.
func BenchmarkCallSecond(b *testing.B) {
	before := cpu()
	media := time.Duration(0)
	for b.Loop() {
		media += runCalls(b, 1, 1e6, time.Minute)
	}
	b.ReportMetric(float64((cpu()-before).Microseconds())/media.Seconds(), "µs-cpu/call-s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTwoHundredCalls has 200 calls at once at real time for ten seconds and prints what they cost.
func BenchmarkTwoHundredCalls(b *testing.B) {
	const calls, length = 200, 10 * time.Second
	for b.Loop() {
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		spent, began := cpu(), time.Now()
		middle := time.AfterFunc(length/2, func() {
			runtime.GC()
			runtime.ReadMemStats(&during)
		})
		media := runCalls(b, calls, 1, length)
		middle.Stop()
		wall := time.Since(began)
		require.InDelta(b, (calls * length).Seconds(), media.Seconds(), 1)
		b.ReportMetric(float64(cpu()-spent)/float64(wall), "cores")
		b.ReportMetric(float64((cpu()-spent).Microseconds())/media.Seconds(), "µs-cpu/call-s")
		b.ReportMetric(float64(during.HeapInuse+during.StackInuse-before.HeapInuse-before.StackInuse)/calls/1024, "KB/call")
		b.ReportMetric(float64(wall-length)/float64(time.Millisecond), "ms-late")
	}
	b.ReportMetric(0, "ns/op")
}
