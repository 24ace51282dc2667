package hosted_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/hosted"
	"github.com/callwright/callwright/internal/openai"
)

// BenchmarkFiftyTalksOverHTTP has fifty talks at once, at the speed of a telephone, with servers on this machine that
// take 100, 200 and 100 ms. The servers' work (resampling, JSON) is on the same processors.
func BenchmarkFiftyTalksOverHTTP(b *testing.B) {
	const calls = 50
	for b.Loop() {
		w := &world{t: b, requests: map[string]int{}, studio: voice.New(voice.Config{Placeholder: true}),
			stt: 100 * time.Millisecond, llm: 200 * time.Millisecond, tts: 100 * time.Millisecond}
		steps := []sandbox.Step{{Wait: 300 * time.Millisecond, Say: "Hello?"}}
		for range 20 {
			steps = append(steps, hears("Please tell me more about it."))
		}
		w.lines = []string{"Hello?", "Please tell me more about it."}
		w.think = func(chat) []string { return []string{"All right."} }
		server := httptest.NewServer(http.HandlerFunc(w.handler))
		at := openai.Config{URL: server.URL + "/v1", Model: "m"}
		speech, err := hosted.New(hosted.Config{STT: at, LLM: at, TTS: at, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		line := sandbox.New(sandbox.Config{Voices: w.studio, Callees: map[string]sandbox.Callee{"+15005559999": {Steps: steps}}})
		script := juniper
		script.Greeting, script.Limit = "Hello there.", 15*time.Second
		speech.Warm(b.Context(), script)
		var talks sync.WaitGroup
		var mu sync.Mutex
		var all []time.Duration
		for i := range calls {
			talks.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
				leg, err := line.Dial(context.Background(), carrier.Request{CallID: fmt.Sprint("b", i), To: "+15005559999"}, nil)
				if err != nil {
					b.Error(err)
					return
				}
				r, err := conversation.Run(context.Background(), leg, script, speech, conversation.Hooks{})
				if err != nil {
					b.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, r.Latency.Turns[min(1, len(r.Latency.Turns)):]...) // the first answers who answered
			})
		}
		talks.Wait()
		speech.Close()
		server.Close()
		slices.Sort(all)
		ms := func(q float64) float64 { return float64(all[int(q*float64(len(all)-1))].Milliseconds()) }
		b.ReportMetric(ms(0.5), "ms-voice-to-voice-p50")
		b.ReportMetric(ms(0.99), "ms-voice-to-voice-p99")
		b.ReportMetric(float64(len(all)), "turns")
		b.ReportMetric(float64(w.requests["stt "])/float64(len(all)), "transcriptions/turn")
	}
	b.ReportMetric(0, "ns/op")
}
