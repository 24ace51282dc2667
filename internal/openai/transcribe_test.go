package openai_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/openai"
)

// heardForm is a transcription's request as the server got it.
type heardForm struct {
	fields map[string]string
	file   []byte
}

// transcriber is a server of transcriptions that answers by a script, as serve does.
func transcriber(t *testing.T, answers ...http.HandlerFunc) (url string, asked func() []heardForm) {
	t.Helper()
	var mu sync.Mutex
	var all []heardForm
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := heardForm{fields: map[string]string{"path": r.URL.Path, "authorization": r.Header.Get("Authorization")}}
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		for k, v := range r.MultipartForm.Value {
			f.fields[k] = v[0]
		}
		file, _, err := r.FormFile("file")
		if err == nil {
			f.file, _ = io.ReadAll(file)
		}
		mu.Lock()
		n := len(all)
		all = append(all, f)
		mu.Unlock()
		answers[min(n, len(answers)-1)](w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []heardForm {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func answers(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

var sound = openai.Sound{PCM: []int16{1, -2, 3, -4}, Rate: 16000, Language: "en", Prompt: "Juniper"}

func TestTranscriptionsOfManyServers(t *testing.T) {
	stream := "text/event-stream"
	delta := func(text string) string {
		return `data: {"type":"transcript.text.delta","delta":"` + text + `"}` + "\n\n"
	}
	chunk := func(text string) string {
		return `data: {"object":"transcription.chunk","choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n"
	}
	cases := map[string]struct {
		kind, body string
		want       string
		err        error
		partials   []string
	}{
		"JSON":                             {"application/json", `{"text":" Hello there. "}`, "Hello there.", nil, nil},
		"JSON without a type":              {"", `{"text":"Hello"}`, "Hello", nil, nil},
		"more fields":                      {"application/json", `{"task":"transcribe","language":"english","duration":1.2,"text":"Hello","segments":[]}`, "Hello", nil, nil},
		"nobody said anything":             {"application/json", `{"text":""}`, "", nil, nil},
		"the bare text":                    {"text/plain; charset=utf-8", "Hello\n", "Hello", nil, nil},
		"deltas and the whole":             {stream, delta("Hel") + delta("lo") + `data: {"type":"transcript.text.done","text":"Hello."}` + "\n\ndata: [DONE]\n\n", "Hello.", nil, []string{"Hel", "Hello"}},
		"comments between":                 {stream, ": ping\n\n" + delta("Hello") + "event: x\n" + `data: {"type":"transcript.text.done","text":"Hello"}` + "\n", "Hello", nil, []string{"Hello"}},
		"chunks as in a chat":              {stream, chunk("Hel") + chunk("lo") + "data: [DONE]\n\n", "Hello", nil, []string{"Hel", "Hello"}},
		"segments":                         {stream, `data: {"text":"Hello there."}` + "\n\n" + `data: {"text":" How are you?"}` + "\n\n", "Hello there. How are you?", nil, []string{"Hello there.", "Hello there. How are you?"}},
		"a stream that breaks off":         {stream, delta("I do") + delta(" not"), "", openai.ErrUnavailable, []string{"I do", "I do not"}},
		"an empty stream":                  {stream, "", "", openai.ErrUnavailable, nil},
		"an error in the stream":           {stream, delta("I") + `data: {"error":{"message":"overloaded","code":"busy"}}` + "\n\n", "", openai.ErrUnavailable, []string{"I"}},
		"an error that looks like success": {"application/json", `{"error":{"message":"no","code":"model_not_found"}}`, "", openai.ErrRefused, nil},
		"a page":                           {"text/html", "<html>busy</html>", "", openai.ErrMalformed, nil},
		"a page as plain text":             {"text/plain", "<html>busy</html>", "", openai.ErrMalformed, nil},
		"JSON without text":                {"application/json", `{"ok":true}`, "", openai.ErrMalformed, nil},
		"nothing":                          {"application/json", "", "", openai.ErrMalformed, nil},
		"no JSON in the stream":            {stream, "data: <html>\n\n", "", openai.ErrUnavailable, nil},
		"too much":                         {"application/json", `{"text":"` + strings.Repeat("a", 1<<17) + `"}`, "", openai.ErrMalformed, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			url, asked := transcriber(t, answers(200, tc.kind, tc.body))
			var partials []string
			got, err := client(t, url, func(c *openai.Config) { c.MaxAnswer = 1 << 16 }).Transcribe(t.Context(), sound, func(text string) { partials = append(partials, text) })
			require.ErrorIs(t, err, tc.err)
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.partials, partials)
			f := asked()[0].fields
			require.Equal(t, map[string]string{
				"path": "/v1/audio/transcriptions", "authorization": "Bearer " + key, "model": "test-model", "language": "en",
				"prompt": "Juniper", "response_format": "json", "stream": "true",
			}, f)
		})
	}
}

func TestTheSoundIsSentAsAWAVFile(t *testing.T) {
	url, asked := transcriber(t, answers(200, "application/json", `{"text":"x"}`))
	_, err := client(t, url).Transcribe(t.Context(), sound, nil)
	require.NoError(t, err)
	file := asked()[0].file
	require.Len(t, file, 44+8)
	require.Equal(t, "RIFF", string(file[:4]))
	require.Equal(t, uint32(16000), binary.LittleEndian.Uint32(file[24:]))
	require.Equal(t, int16(-4), int16(binary.LittleEndian.Uint16(file[50:])))
}

func TestAServerThatRefusesToStreamIsNotAskedAgain(t *testing.T) {
	for name, refusal := range map[string]http.HandlerFunc{
		"an unknown parameter": answers(400, "application/json", `{"error":{"message":"unknown parameter stream","param":"stream"}}`),
		"FastAPI":              answers(422, "application/json", `{"detail":[{"loc":["body","stream"],"msg":"extra fields not permitted"}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			good := answers(200, "application/json", `{"text":"Hello"}`)
			url, asked := transcriber(t, refusal, good)
			c := client(t, url)
			for range 2 {
				got, err := c.Transcribe(t.Context(), sound, nil)
				require.NoError(t, err)
				require.Equal(t, "Hello", got)
			}
			require.Len(t, asked(), 3)
			require.NotContains(t, asked()[2].fields, "stream")
		})
	}
	t.Run("a refusal for another reason is told, and streaming goes on", func(t *testing.T) {
		url, asked := transcriber(t, answers(400, "application/json", `{"error":{"message":"audio too short"}}`))
		c := client(t, url)
		_, err := c.Transcribe(t.Context(), sound, nil)
		require.ErrorIs(t, err, openai.ErrRefused)
		_, _ = c.Transcribe(t.Context(), sound, nil)
		require.Equal(t, "true", asked()[2].fields["stream"])
	})
}

func TestFaultsOfTranscribers(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		err    error
		status int
	}{
		"401":      {answers(401, "application/json", `{"error":{"message":"bad key `+key+`"}}`), openai.ErrRefused, 401},
		"429":      {answers(429, "", ""), openai.ErrUnavailable, 429},
		"500":      {answers(500, "text/plain", "oops"), openai.ErrUnavailable, 500},
		"a reset":  {reset, openai.ErrUnavailable, 0},
		"too late": {hang, openai.ErrUnavailable, 200},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: ")
			hang(w, r)
		}, openai.ErrUnavailable, 200},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := transcriber(t, tc.answer)
			_, err := client(t, url, func(c *openai.Config) { c.IdleTimeout = 100 * time.Millisecond }).Transcribe(t.Context(), sound, nil)
			require.ErrorIs(t, err, tc.err)
			var e *openai.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.status, e.Status)
			require.NotContains(t, err.Error()+e.Detail, key)
			require.Len(t, asked(), 1, "there is one attempt")
		})
	}
}

// reset drops the connection.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		conn.Close()
	}
}

// hang answers when the client has gone.
func hang(w http.ResponseWriter, r *http.Request) {
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestAClientInALogDoesNotTellItsKey(t *testing.T) {
	c := client(t, "http://127.0.0.1:1")
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "server", c)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "server", c)
	fmt.Fprintf(&b, "%v %+v %s", c, c, c)
	require.NotContains(t, b.String(), key)
	require.Contains(t, b.String(), "test-model")
}
