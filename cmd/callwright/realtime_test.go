package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
)

// newRealtimeServer says what it is told to say, and hangs up at the second answer of its own. The protocol is tested in
// internal/conversation/realtime; this is for the settings.
func newRealtimeServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-realtime" || r.URL.Query().Get("model") != "m" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		send := func(e map[string]any) {
			text, _ := json.Marshal(e)
			_ = ws.Write(context.Background(), websocket.MessageText, text)
		}
		own := 0
		for n := 0; ; n++ {
			_, text, err := ws.Read(context.Background())
			if err != nil {
				return
			}
			var e struct {
				Type     string
				Response struct{ Instructions string }
			}
			_ = json.Unmarshal(text, &e)
			switch e.Type {
			case "session.update":
				send(map[string]any{"type": "session.updated"})
			case "response.create":
				item, response := fmt.Sprint("item_", n), map[string]any{"id": fmt.Sprint("resp_", n)}
				send(map[string]any{"type": "response.created", "response": response})
				say := "We have moved to new rooms."
				if _, given, ok := strings.Cut(e.Response.Instructions, "word for word"); ok {
					_, say, _ = strings.Cut(given, "\n\n")
				} else if own++; own > 1 {
					say = "Goodbye."
					response["output"] = []any{map[string]any{"type": "function_call", "id": "f", "call_id": "c", "name": "end_call", "arguments": "{}"}}
				}
				send(map[string]any{"type": "response.output_audio_transcript.delta", "item_id": item, "delta": say})
				send(map[string]any{"type": "response.output_audio.delta", "item_id": item, "delta": audio.EncodeUlaw(nil, audio.Tone(200, 0.3, audio.FrameTime*60))})
				response["status"] = "completed"
				send(map[string]any{"type": "response.done", "response": response})
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

func TestATalkByOneModel(t *testing.T) {
	url, dir := newRealtimeServer(t), t.TempDir()
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, "--speech", "realtime", "--realtime-url", url, "--realtime-key", "sk-realtime",
		"--realtime-model", "m", "--sandbox-speed", "4")
	out, errs, code := callwright(t, "call", "+15005550006", "--test", "--server", f.GRPCAddr, "--data-dir", dir)
	require.Zero(t, code, errs)
	for _, said := range []string{"user    Hello?", "agent   We have moved to new rooms.", "agent   Goodbye.", "completed"} {
		require.Contains(t, out, said)
	}
}

func TestRealtimeSettingsThatCanNotWorkAreSaid(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"realtime without a server":  {[]string{"--speech", "realtime"}, "--speech realtime needs --realtime-url and --realtime-model, or --openai-api-key"},
		"a server without its model": {[]string{"--realtime-url", "wss://x/v1"}, "--realtime-url needs --realtime-model"},
		"a model without its server": {[]string{"--realtime-model", "m"}, "--realtime-url is missing"},
		"an address that is none":    {[]string{"--realtime-url", "x", "--realtime-model", "m"}, "--realtime-url: the realtime server's URL must be like wss://host/v1"},
		"a voice without realtime":   {[]string{"--tts-voice", "v"}, "--tts-url is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, installation{}.refused(t, append([]string{"serve", "--data-dir", dir}, c.args...)...), c.want)
		})
	}
}

func TestDoctorAsksTheRealtimeModel(t *testing.T) {
	url, dir := newRealtimeServer(t), t.TempDir()
	ask := func(key string) string {
		out, _, _ := callwright(t, "doctor", "--data-dir", dir, "--speech", "realtime", "--realtime-url", url, "--realtime-key", key, "--realtime-model", "m")
		return out
	}
	require.Contains(t, ask("sk-realtime"), url+" answers")
	wrong := ask("sk-other")
	require.Contains(t, wrong, "HTTP 401")
	require.NotContains(t, wrong, "sk-other")
}
