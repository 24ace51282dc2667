package openai_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/openai"
)

// realtime is a server that does with a connection what the test says.
func realtime(t *testing.T, c openai.RealtimeConfig, handle func(*websocket.Conn, *http.Request)) *openai.Realtime {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		handle(ws, r)
	}))
	t.Cleanup(server.Close)
	c.URL, c.Model, c.Key = server.URL+"/v1", "gpt-realtime-test", key
	c.Transport = &http.Transport{DisableKeepAlives: true}
	client, err := openai.NewRealtime(c)
	require.NoError(t, err)
	return client
}

func TestRealtimeReadsWhatServersSay(t *testing.T) {
	client := realtime(t, openai.RealtimeConfig{}, func(ws *websocket.Conn, r *http.Request) {
		if r.URL.Path != "/v1/realtime" || r.URL.Query().Get("model") != "gpt-realtime-test" || r.Header.Get("Authorization") != "Bearer "+key {
			return
		}
		for _, text := range []string{
			`{"type":"session.created","session":{"id":"s"}}`,
			`not JSON`, `[1,2]`, `{"type":7}`, `{"type":"response.from.the.future","delta":{"x":1}}`,
			`{"type":"response.done","response":"not an object"}`,
			`{"type":"response.output_audio.delta","item_id":"i","delta":"/3+AAA=="}`,
			`{"type":"response.output_audio.delta","item_id":"i","delta":"%%%"}`,
			`{"type":"response.audio.delta","delta":"/w=="}`,
			`{"type":"response.audio_transcript.delta","delta":"Hi"}`,
			`{"type":"conversation.item.input_audio_transcription.completed","item_id":"u","transcript":"Hello?"}`,
			`{"type":"error","error":"just words"}`,
			`{"type":"error","error":{"type":"invalid_request_error","code":42,"message":"no","event_id":"e1"}}`,
			`{"type":"error"}`,
		} {
			if ws.Write(r.Context(), websocket.MessageText, []byte(text)) != nil {
				return
			}
		}
		_ = ws.Close(websocket.StatusNormalClosure, "secret words")
	})
	conn, err := client.Connect(t.Context())
	require.NoError(t, err)
	var got []openai.RealtimeEvent
	for e := range conn.Events() {
		got = append(got, e)
	}
	require.Len(t, got, 8)
	require.Equal(t, openai.RealtimeSessionCreated, got[0].Type)
	require.Equal(t, []byte{0xff, 0x7f, 0x80, 0x00}, got[1].Delta)
	require.Equal(t, openai.RealtimeAudio, got[2].Type, "an older name")
	require.Equal(t, "Hi", got[3].Text)
	require.Equal(t, "Hello?", got[4].Text)
	require.Equal(t, "just words", got[5].Error.Message)
	require.Equal(t, "e1", got[6].Error.EventID)
	require.ErrorIs(t, got[6].Error.AsError(), openai.ErrRefused)
	require.NotNil(t, got[7].Error)
	require.ErrorIs(t, conn.Err(), openai.ErrUnavailable)
	require.NotContains(t, conn.Err().Error(), "secret")
	require.Error(t, conn.Send(map[string]string{"type": "x"}))
	require.NoError(t, conn.Close())
	require.NoError(t, conn.Close(), "closing twice does no harm")
}

func TestRealtimeHandshakesThatFail(t *testing.T) {
	for status, kind := range map[int]error{401: openai.ErrRefused, 404: openai.ErrRefused, 429: openai.ErrUnavailable, 503: openai.ErrUnavailable, 301: openai.ErrRefused} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		client, err := openai.NewRealtime(openai.RealtimeConfig{URL: server.URL + "/v1", Key: key, Model: "m", Transport: &http.Transport{DisableKeepAlives: true}})
		require.NoError(t, err)
		_, err = client.Connect(t.Context())
		var failed *openai.Error
		require.ErrorAs(t, err, &failed)
		require.ErrorIs(t, err, kind)
		require.Equal(t, status, failed.Status)
		require.Equal(t, 7*time.Second, failed.RetryAfter)
		require.NotContains(t, err.Error(), key)
		server.Close()
		_, err = client.Connect(t.Context())
		require.ErrorIs(t, err, openai.ErrUnavailable, "nobody listens")
	}
	for _, c := range []openai.RealtimeConfig{
		{URL: "ftp://x/v1", Model: "m"}, {URL: "wss://user:pass@x/v1", Model: "m"}, {URL: "wss://x/v1?model=y", Model: "m"}, {URL: "wss://x/v1"},
		{URL: "wss://x/v1", Model: "m", Key: "two words"}, {URL: "nonsense", Model: "m"},
	} {
		_, err := openai.NewRealtime(c)
		require.Error(t, err, "%v", c)
		require.False(t, strings.Contains(err.Error(), "two words"))
	}
}

func TestRealtimeServersThatStopReading(t *testing.T) {
	release := make(chan struct{})
	client := realtime(t, openai.RealtimeConfig{KeepAlive: 50 * time.Millisecond}, func(*websocket.Conn, *http.Request) { <-release })
	conn, err := client.Connect(t.Context())
	require.NoError(t, err)
	for range conn.Events() { // no pong comes, so the connection ends by itself
	}
	require.ErrorIs(t, conn.Err(), openai.ErrUnavailable)
	require.NoError(t, conn.Close())
	t.Run("what can not be sent is refused, not kept", func(t *testing.T) {
		slow := realtime(t, openai.RealtimeConfig{}, func(*websocket.Conn, *http.Request) { <-release })
		conn, err := slow.Connect(t.Context())
		require.NoError(t, err)
		page := map[string]string{"text": strings.Repeat("x", 64<<10)}
		for err == nil {
			err = conn.Send(page)
		}
		require.True(t, errors.Is(err, openai.ErrBehind), err)
		require.NoError(t, conn.Close())
	})
	close(release)
}

func FuzzRealtimeEvents(f *testing.F) {
	f.Add(`{"type":"response.output_audio.delta","delta":"AAAA"}`)
	f.Add(`{"type":"error","error":{"message":1}}`)
	f.Add(`{"type":"response.done","response":{"output":[null,{}],"metadata":null}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if e, known := openai.DecodeRealtime([]byte(text)); known && (e.Type == "" || e.Type == openai.RealtimeFailed && e.Error == nil) {
			t.Fatalf("%+v", e)
		}
	})
}
