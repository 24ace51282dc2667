package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// speechServer is a self-hosted server of everything that a cascade needs: it understands the same words each time, and
// its model says goodbye at the second answer.
type speechServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func newSpeechServer(t *testing.T) *speechServer {
	s := &speechServer{asked: map[string]int{}}
	mux := http.NewServeMux()
	count := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.asked[r.URL.Path+" "+r.Header.Get("Authorization")]++
			s.mu.Unlock()
			h(w, r)
		}
	}
	mux.HandleFunc("POST /v1/audio/transcriptions", count(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"text":"Please go ahead, thank you."}`)
	}))
	mux.HandleFunc("POST /v1/chat/completions", count(func(w http.ResponseWriter, r *http.Request) {
		var c struct {
			Stream   bool
			Messages []struct{ Role, Content string }
		}
		_ = json.NewDecoder(r.Body).Decode(&c)
		if !c.Stream { // the analysis
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		delta := `{"content":"We have moved to new rooms."}`
		for _, m := range c.Messages {
			if m.Role == "assistant" && strings.Contains(m.Content, "moved") {
				delta = `{"content":"Goodbye.","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"end_call","arguments":"{}"}}]}`
			}
		}
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":%s}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", delta)
	}))
	mux.HandleFunc("POST /v1/audio/speech", count(func(w http.ResponseWriter, r *http.Request) {
		var s struct{ Input string }
		_ = json.NewDecoder(r.Body).Decode(&s)
		pcm := make([]byte, 0, 2400*len(s.Input)) // 50 ms a letter at 24 kHz
		for i := range 1200 * len(s.Input) {
			v := int16(6000 * math.Sin(float64(i)/20) * math.Sin(float64(i)/2400))
			pcm = append(pcm, byte(v), byte(v>>8))
		}
		w.Write(pcm)
	}))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *speechServer) requests(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// flags of a cascade: the first server's, with that as its fallback.
func cascade(first, fallback string) []string {
	args := []string{"--speech", "cascade", "--sandbox-speed", "4"}
	for _, part := range []string{"stt", "llm", "tts"} {
		args = append(args, "--"+part+"-url", first+"/v1", "--"+part+"-key", "sk-1", "--"+part+"-model", "m",
			"--"+part+"-fallback-url", fallback+"/v1", "--"+part+"-fallback-model", "m")
	}
	return args
}

func TestATalkOverServersOfOurOwn(t *testing.T) {
	good := newSpeechServer(t)
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	for name, c := range map[string]struct{ first, key string }{
		"by the servers of the settings":      {good.URL, " Bearer sk-1"},
		"by the fallbacks when they are away": {dead.URL, " "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, cascade(c.first, good.URL)...)
			out, errs, code := callwright(t, "call", "+15005550006", "--test", "--server", f.GRPCAddr, "--data-dir", dir, "--json")
			require.Zero(t, code, errs)
			var said []string
			id := ""
			for line := range strings.Lines(out) {
				var e struct {
					Call struct{ ID, Status string }
					Turn struct{ Role, Content string }
				}
				require.NoError(t, json.Unmarshal([]byte(line), &e))
				if e.Call.ID != "" {
					id = e.Call.ID
				} else {
					said = append(said, e.Turn.Role+": "+e.Turn.Content)
				}
			}
			all := strings.Join(said, "\n")
			require.Contains(t, all, "agent: We have moved to new rooms.")
			require.Contains(t, all, "user: Please go ahead, thank you.")
			require.Contains(t, all, "agent: Goodbye.")
			done := f.ended(t, id)
			require.Equal(t, "completed", done["status"])
			require.Equal(t, "agent_hangup", done["ended_reason"])
			require.NotEmpty(t, done["answered_by_reason"])
			f.requireBothVoices(t, id)
			require.NotZero(t, good.requests("/v1/audio/speech"+c.key))
			require.NotZero(t, good.requests("/v1/audio/transcriptions"+c.key))
			require.NotZero(t, good.requests("/v1/chat/completions"+c.key))

			out, errs, code = callwright(t, "listen", id, "--server", f.GRPCAddr, "--data-dir", dir)
			require.Zero(t, code, errs)
			require.Contains(t, out, "agent   We have moved to new rooms.\n")
			require.Contains(t, out, "completed")
		})
	}
}

func TestSpeechSettingsThatCanNotWorkAreSaid(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a cascade without servers":    {[]string{"--speech", "cascade"}, "--speech cascade needs --stt-url and --stt-model, or --openai-api-key"},
		"a cascade without a voice":    {[]string{"--speech", "cascade", "--stt-url", "http://x/v1", "--stt-model", "m", "--llm-url", "http://x/v1", "--llm-model", "m"}, "needs --tts-url and --tts-model"},
		"a server without its model":   {[]string{"--tts-url", "http://x/v1"}, "--tts-url needs --tts-model"},
		"a model without its server":   {[]string{"--stt-model", "m"}, "--stt-url is missing"},
		"a fallback without its model": {[]string{"--llm-fallback-url", "http://x/v1"}, "--llm-fallback-url needs --llm-fallback-model"},
		"a fallback's key alone":       {[]string{"--tts-fallback-key", "k"}, "--tts-fallback-url is missing"},
		"an address that is none":      {[]string{"--llm-url", "x", "--llm-model", "m"}, "--llm-url: the model server's URL must be like https://host/v1"},
		"a key with a space":           {[]string{"--openai-api-key", "sk 1"}, "the key for https://api.openai.com/v1 holds a space"},
		"another kind of speech":       {[]string{"--speech", "telepathy"}, "--speech"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, installation{}.refused(t, append([]string{"serve", "--data-dir", dir}, c.args...)...), c.want)
		})
	}
}

func TestCallAndListenSayWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no key":    {[]string{"listen", "01990000-0000-7000-8000-000000000000"}, "say who you are with --api-key"},
		"no agent":  {[]string{"call", "+15005550006", "--api-key", "k"}, "say which agent calls with --agent"},
		"no server": {[]string{"listen", "01990000-0000-7000-8000-000000000000", "--api-key", "k", "--server", "127.0.0.1:1"}, "no server answers at 127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, installation{dir, []string{"--data-dir", dir}}.refused(t, c.args...), c.want)
		})
	}
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t)
	reach := []string{"--server", f.GRPCAddr, "--data-dir", dir}
	require.Contains(t, installation{dir, reach}.refused(t, "listen", "01990000-0000-7000-8000-000000000000"), "call")
	require.Contains(t, installation{dir, reach}.refused(t, "listen", "nonsense"), "id")
	require.Contains(t, installation{dir, reach}.refused(t, "call", "12345"), "to")
}
