package hosted_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/hosted"
	"github.com/callwright/callwright/internal/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a first and a second (fallback) server of everything, in memory, so that talks run in virtual time.
type world struct {
	t      testing.TB
	studio *voice.Studio
	// lines are what the other side may say; the recogniser knows them by their length.
	lines []string
	// think answers a chat. Defaults to reply.
	think func(c chat) []string
	// fault is asked before the n-th request (from 1) for a part (stt, llm, tts) to a server (first, second).
	fault func(part, server string, n int) fault
	// delays of the answers; the language model's is before the first token.
	stt, llm, tts time.Duration

	mu       sync.Mutex
	requests map[string]int
	chats    []chat
	spoken   []string // texts that were spoken, with their voice
	forms    []map[string]string
}

// chat is a request to the language model.
type chat struct {
	Model       string
	Stream      bool
	Temperature *float64
	Messages    []struct {
		Role, Content string
		ToolCallID    string `json:"tool_call_id"`
		ToolCalls     []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Tools []struct{ Function struct{ Name string } }
}

func (c chat) last() string { return c.Messages[len(c.Messages)-1].Content }

// fault is what a server does instead of its work.
type fault func(w http.ResponseWriter, r *http.Request, work http.HandlerFunc)

func status(code int) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"message":"status %d"}}`, code)
	}
}

var faults = map[string]fault{
	"late":    func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) { <-r.Context().Done() },
	"refused": func(http.ResponseWriter, *http.Request, http.HandlerFunc) { panic(http.ErrAbortHandler) },
	"401":     status(401), "429": status(429), "500": status(500),
	"empty": func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { w.WriteHeader(200) },
	"malformed": func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<html>Bad gateway</html>")
	},
	// The first bytes of a right answer come, then a byte each second.
	"slow-drip": func(w http.ResponseWriter, r *http.Request, work http.HandlerFunc) {
		left := map[string]int{"/v1/audio/transcriptions": 5}[r.URL.Path]
		work(&narrow{ResponseWriter: w, left: max(left, 40*(1-left/5)), behind: func(w http.ResponseWriter, b byte) {
			select {
			case <-time.After(time.Second):
				w.Write([]byte{b})
			case <-r.Context().Done():
			}
		}}, r)
	},
	// The connection breaks off behind the first bytes, or in the middle of what the work is.
	"cut mid-stream": func(w http.ResponseWriter, r *http.Request, work http.HandlerFunc) {
		n := map[string]int{"/v1/audio/speech": 24000, "/v1/chat/completions": 130}[r.URL.Path]
		work(&narrow{ResponseWriter: w, left: max(n, 5), behind: func(http.ResponseWriter, byte) { panic(http.ErrAbortHandler) }}, r)
	},
	"connection reset": func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		w.WriteHeader(200)
		panic(http.ErrAbortHandler)
	},
}

// narrow lets the first bytes through.
type narrow struct {
	http.ResponseWriter
	left   int
	behind func(http.ResponseWriter, byte)
}

func (n *narrow) Write(p []byte) (int, error) {
	for _, b := range p {
		if n.left--; n.left >= 0 {
			n.ResponseWriter.Write([]byte{b})
		} else {
			n.behind(n.ResponseWriter, b)
		}
	}
	return len(p), nil
}

func (w *world) handler(rw http.ResponseWriter, r *http.Request) {
	part := map[string]string{"/v1/audio/transcriptions": "stt", "/v1/chat/completions": "llm", "/v1/audio/speech": "tts"}[r.URL.Path]
	work := map[string]http.HandlerFunc{"stt": w.transcribe, "llm": w.chat, "tts": w.speak}[part]
	if work == nil {
		http.NotFound(rw, r)
		return
	}
	w.mu.Lock()
	w.requests[part+" "+r.URL.Host]++
	n := w.requests[part+" "+r.URL.Host]
	w.mu.Unlock()
	if w.fault != nil {
		if f := w.fault(part, r.URL.Host, n); f != nil {
			f(rw, r, work)
			return
		}
	}
	work(rw, r)
}

// pause is a server at work.
func pause(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

func (w *world) transcribe(rw http.ResponseWriter, r *http.Request) {
	pause(r, w.stt)
	if err := r.ParseMultipartForm(16 << 20); err != nil {
		http.Error(rw, err.Error(), 400)
		return
	}
	form := map[string]string{}
	for k, v := range r.MultipartForm.Value {
		form[k] = v[0]
	}
	f, _, err := r.FormFile("file")
	if err != nil {
		http.Error(rw, err.Error(), 400)
		return
	}
	wav, err := audio.ReadWAV(f)
	if err != nil {
		http.Error(rw, err.Error(), 400)
		return
	}
	w.mu.Lock()
	w.forms = append(w.forms, form)
	w.mu.Unlock()
	json.NewEncoder(rw).Encode(map[string]string{"text": w.understand(wav)})
}

// understand finds the line by its length; of a line that is not over it tells the words so far.
func (w *world) understand(wav audio.WAV) string {
	pcm := wav.Channels[0]
	first, last := -1, 0
	for i, s := range pcm {
		if s > 300 || s < -300 {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	length := time.Duration(last-first) * time.Second / time.Duration(wav.Rate)
	best, text := time.Duration(math.MaxInt64), ""
	for _, l := range w.lines {
		if d := (w.length(l) - length).Abs(); d < best {
			best, text = d, l
		}
	}
	if best < 250*time.Millisecond {
		return strings.ReplaceAll(text, "|", " ")
	}
	for _, l := range w.lines {
		if d := w.length(l); d > length && !strings.Contains(l, "|") {
			words := strings.Fields(l)
			return strings.Join(words[:int(int64(len(words))*int64(length)/int64(d))], " ")
		}
	}
	return ""
}

// length is how long the callee takes for a line; a bar in it is half a second's pause.
func (w *world) length(line string) (d time.Duration) {
	for i, part := range strings.Split(line, "|") {
		if i > 0 {
			d += 500 * time.Millisecond
		}
		d += audio.Duration(len(w.studio.Say(context.Background(), voice.Speaker{Name: "slt"}, part)))
	}
	return d
}

func (w *world) chat(rw http.ResponseWriter, r *http.Request) {
	var c chat
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(rw, err.Error(), 400)
		return
	}
	w.mu.Lock()
	w.chats = append(w.chats, c)
	w.mu.Unlock()
	think := w.think
	if think == nil {
		think = reply
	}
	pause(r, w.llm)
	rw.Header().Set("Content-Type", "text/event-stream")
	if !c.Stream {
		rw.Header().Set("Content-Type", "application/json")
		json.NewEncoder(rw).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": think(c)[0]}}}})
		return
	}
	for i, piece := range think(c) {
		if call, ok := strings.CutPrefix(piece, "CALL "); ok {
			name, arguments, _ := strings.Cut(call, " ")
			event(rw, map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprint("call-", i), "type": "function", "function": map[string]string{"name": name, "arguments": arguments}}}})
			continue
		}
		for _, word := range strings.SplitAfter(piece, " ") {
			event(rw, map[string]any{"content": word})
		}
	}
	io.WriteString(rw, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

func event(w io.Writer, delta any) {
	body, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": delta}}})
	fmt.Fprintf(w, "data: %s\n\n", body)
}

// reply is a model that answers by the last words.
func reply(c chat) []string {
	switch last := c.last(); {
	case strings.HasPrefix(last, "(Your last words"):
		if strings.Contains(c.Messages[len(c.Messages)-2].Content, "Thank you") {
			return []string{"Goodbye.", "CALL end_call {}"}
		}
		return []string{"to our new rooms."}
	case strings.Contains(last, "go ahead"):
		return []string{"We have moved, and so your cleaning on Thursday will be at another place. Please come to our new rooms."}
	case strings.Contains(last, "goodbye"):
		return []string{"Thank you. Goodbye.", "CALL end_call {}"}
	case last == "":
		return nil
	}
	return []string{"I see. Is there anything else?"}
}

func (w *world) speak(rw http.ResponseWriter, r *http.Request) {
	var s struct {
		Input, Voice string
		Speed        float64
	}
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		http.Error(rw, err.Error(), 400)
		return
	}
	if s.Voice == "unknown" {
		status(404)(rw, r, nil)
		return
	}
	w.mu.Lock()
	w.spoken = append(w.spoken, s.Voice+": "+s.Input)
	w.mu.Unlock()
	pause(r, w.tts)
	pcm := audio.NewResampler(audio.Rate, 24000).Push(nil, w.studio.Say(r.Context(), voice.Speaker{Name: s.Voice}, s.Input))
	b := make([]byte, 0, 2*len(pcm))
	for _, v := range pcm {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	for len(b) > 0 { // as a network would
		n := min(len(b), 4800)
		rw.Write(b[:n])
		b = b[n:]
	}
}

// RoundTrip is the network: no socket, so that virtual time knows when everybody waits.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	rw := &answer{header: http.Header{}, ready: make(chan int, 1), out: out}
	stop := context.AfterFunc(r.Context(), func() { out.CloseWithError(r.Context().Err()) })
	go func() {
		defer stop()
		defer func() {
			broken := recover() != nil
			if broken && !rw.begun {
				close(rw.ready)
			}
			if broken {
				out.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			rw.WriteHeader(200)
			out.Close()
		}()
		w.handler(rw, r)
	}()
	select {
	case code, ok := <-rw.ready:
		if !ok {
			return nil, errors.New("connection refused")
		}
		return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: rw.header, Body: in, Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

type answer struct {
	header http.Header
	ready  chan int
	begun  bool
	out    *io.PipeWriter
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) Flush()              {}
func (a *answer) WriteHeader(code int) {
	if !a.begun {
		a.begun = true
		a.ready <- code
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(200)
	return a.out.Write(p)
}

// config of the speech with all servers of the world.
func (w *world) config(fallback bool) hosted.Config {
	at := func(host string) openai.Config {
		return openai.Config{URL: "http://" + host + "/v1", Key: "k", Model: "m-" + host, Transport: w}
	}
	c := hosted.Config{
		STT: at("first"), LLM: at("first"), TTS: at("first"), Voice: "rms", FallbackVoice: "slt",
		Log: slog.New(slog.DiscardHandler),
	}
	if fallback {
		c.STTFallback, c.LLMFallback, c.TTSFallback = at("second"), at("second"), at("second")
	}
	return c
}

// outcome is what became of a talk.
type outcome struct {
	conversation.Result
	fault         error
	transcript    []string
	agent, caller []int16
}

var juniper = conversation.Script{
	AgentName: "Juniper", Company: "Harbor Dental", Prompt: "You are Juniper.", SilenceTimeout: 15 * time.Second,
	Greeting: "Hi Maria, this is Juniper from Harbor Dental. Is now a good time?",
}

// hears is a callee's line once the agent was silent for a moment.
func hears(say string) sandbox.Step { return sandbox.Step{Hear: 900 * time.Millisecond, Say: say} }

// person is somebody who talks to the agent and says goodbye.
var person = []sandbox.Step{
	{Wait: 400 * time.Millisecond, Say: "Hello?"}, hears("Yes, of course, please go ahead."),
	hears("All right. Thank you very much for telling me about it, and goodbye."),
}

// talk has a call in virtual time.
func (w *world) talk(script conversation.Script, fallback bool, steps []sandbox.Step) (o outcome) {
	t := w.t.(*testing.T)
	t.Helper()
	w.requests = map[string]int{}
	w.studio = voice.New(voice.Config{Placeholder: true})
	for _, s := range steps {
		if s.Say != "" {
			w.lines = append(w.lines, s.Say)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		speech, err := hosted.New(w.config(fallback))
		require.NoError(t, err)
		defer speech.Close()
		steps := append(append([]sandbox.Step{}, steps...), sandbox.Step{Wait: time.Hour})
		line := sandbox.New(sandbox.Config{Voices: w.studio, Callees: map[string]sandbox.Callee{"+15005559999": {Steps: steps}}})
		leg, err := line.Dial(t.Context(), carrier.Request{CallID: "c1", From: "+15005550000", To: "+15005559999"}, nil)
		require.NoError(t, err)
		leg.Media().Tap(func(k carrier.Tick) {
			o.agent = append(o.agent, k.Agent[:]...)
			o.caller = append(o.caller, k.Caller[:]...)
		})
		o.Result, o.fault = conversation.Run(t.Context(), leg, script, speech, conversation.Hooks{})
	})
	for _, turn := range o.Turns {
		o.transcript = append(o.transcript, string(turn.Role)+": "+turn.Content)
	}
	return o
}

type (
	httpWriter  = http.ResponseWriter
	httpRequest = http.Request
	httpHandler = http.HandlerFunc
)
