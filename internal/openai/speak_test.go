package openai_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/openai"
)

// speaker is a server of speech that answers by a script.
func speaker(t *testing.T, answers ...func(http.ResponseWriter, *http.Request, map[string]any)) (url string, asked func() []map[string]any) {
	t.Helper()
	var mu sync.Mutex
	var all []map[string]any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if json.NewDecoder(r.Body).Decode(&body) != nil || r.URL.Path != "/v1/audio/speech" || r.Header.Get("Authorization") != "Bearer "+key {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		mu.Lock()
		n := len(all)
		all = append(all, body)
		mu.Unlock()
		answers[min(n, len(answers)-1)](w, r, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []map[string]any {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func sends(kind string, body []byte) func(http.ResponseWriter, *http.Request, map[string]any) {
	return func(w http.ResponseWriter, _ *http.Request, _ map[string]any) {
		w.Header().Set("Content-Type", kind)
		w.Write(body)
	}
}

func raws(samples ...int16) (b []byte) {
	for _, s := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}

// wav is a file with any numbers in its header.
func wav(coding, channels, rate, bits int, size uint32, extra string, data []byte) []byte {
	b := []byte("RIFF\xff\xff\xff\xffWAVE" + extra + "fmt \x10\x00\x00\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(coding))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*channels*bits/8))
	b = binary.LittleEndian.AppendUint16(b, uint16(channels*bits/8))
	b = binary.LittleEndian.AppendUint16(b, uint16(bits))
	b = append(b, "data"...)
	return append(binary.LittleEndian.AppendUint32(b, size), data...)
}

type said struct {
	pcm  []int16
	rate int
	err  error
}

func speak(t *testing.T, c *openai.Client, s openai.Speech) (got said) {
	got.err = c.Speak(t.Context(), s, func(pcm []int16, rate int) error {
		got.pcm, got.rate = append(got.pcm, pcm...), rate
		return nil
	})
	return got
}

func TestSoundsOfManyServers(t *testing.T) {
	pcm := []int16{1, -2, 3000, -4000, 5}
	float := make([]byte, 0, 8)
	for _, f := range []float32{0.5, -1.5} {
		float = binary.LittleEndian.AppendUint32(float, math.Float32bits(f))
	}
	odd := append(raws(pcm...), 7)
	for name, tc := range map[string]struct {
		kind string
		body []byte
		want []int16
		rate int
		err  error
	}{
		"raw samples":                      {"audio/pcm", raws(pcm...), pcm, 24000, nil},
		"raw samples of another rate":      {"audio/pcm; rate=16000", raws(pcm...), pcm, 16000, nil},
		"half a sample at the end":         {"audio/pcm", odd, pcm, 24000, nil},
		"a WAV file though pcm was asked":  {"audio/wav", wav(1, 1, 22050, 16, 10, "", raws(pcm...)), pcm, 22050, nil},
		"a WAV file without sizes":         {"application/octet-stream", wav(1, 1, 48000, 16, 0xffffffff, "", raws(pcm...)), pcm, 48000, nil},
		"a WAV file of size 0":             {"audio/wav", wav(1, 1, 8000, 16, 0, "", raws(pcm...)), pcm, 8000, nil},
		"other chunks before":              {"audio/wav", wav(1, 1, 8000, 16, 10, "LIST\x04\x00\x00\x00abcd", raws(pcm...)), pcm, 8000, nil},
		"stereo: the first channel":        {"audio/wav", wav(1, 2, 8000, 16, 8, "", raws(1, 9, 2, 9)), []int16{1, 2}, 8000, nil},
		"floats":                           {"audio/wav", wav(3, 1, 24000, 32, 8, "", float), []int16{16383, -32768}, 24000, nil},
		"24 bit":                           {"audio/wav", wav(1, 1, 24000, 24, 6, "", make([]byte, 6)), nil, 0, openai.ErrMalformed},
		"nothing":                          {"audio/pcm", nil, nil, 0, openai.ErrUnavailable},
		"a WAV file without sound":         {"audio/wav", wav(1, 1, 8000, 16, 0, "", nil), nil, 0, openai.ErrUnavailable},
		"a broken header":                  {"audio/wav", []byte("RIFF1234WAVEfmt "), nil, 0, openai.ErrUnavailable},
		"MP3":                              {"audio/mpeg", []byte("ID3\x04sound"), nil, 0, openai.ErrRefused},
		"Ogg":                              {"audio/ogg", []byte("OggS sound"), nil, 0, openai.ErrRefused},
		"an error that looks like success": {"application/json", []byte(`{"error":{"message":"no"}}`), nil, 0, openai.ErrUnavailable},
		"a page":                           {"text/html", []byte("<html>"), nil, 0, openai.ErrMalformed},
		"too much":                         {"audio/pcm", make([]byte, 1<<17), make([]int16, 1<<15), 24000, openai.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := speaker(t, sends(tc.kind, tc.body))
			got := speak(t, client(t, url, func(c *openai.Config) { c.MaxAnswer = 1 << 16 }), openai.Speech{Text: "Hello", Voice: "alloy", Speed: 1})
			require.ErrorIs(t, got.err, tc.err)
			require.Equal(t, tc.want, got.pcm)
			require.Equal(t, tc.rate, got.rate)
			require.Equal(t, map[string]any{"model": "test-model", "input": "Hello", "voice": "alloy", "response_format": "pcm"}, asked()[0])
		})
	}
}

func TestAServerIsAskedAsItCanBeAsked(t *testing.T) {
	ok := sends("audio/wav", wav(1, 1, 8000, 16, 4, "", raws(1, 2)))
	refuse := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, `{"detail":"`+text+`"}`)
	}
	unless := func(fits func(map[string]any) bool, text string) func(http.ResponseWriter, *http.Request, map[string]any) {
		return func(w http.ResponseWriter, r *http.Request, body map[string]any) {
			if !fits(body) {
				refuse(w, 422, text)
				return
			}
			ok(w, r, body)
		}
	}
	for name, tc := range map[string]struct {
		answer   func(http.ResponseWriter, *http.Request, map[string]any)
		requests int // of two calls
		err      error
	}{
		"knows wav only": {unless(func(b map[string]any) bool { return b["response_format"] == "wav" }, "bad response_format"), 4, nil},
		"knows no speed": {unless(func(b map[string]any) bool { return b["speed"] == nil }, "speed is unknown"), 3, nil},
		"knows no voice": {unless(func(map[string]any) bool { return false }, "unknown voice"), 2, openai.ErrRefused},
		"knows nothing":  {unless(func(map[string]any) bool { return false }, "no"), 8, openai.ErrRefused},
		"sends MP3 first": {func(w http.ResponseWriter, r *http.Request, b map[string]any) {
			if b["response_format"] != "wav" {
				sends("audio/mpeg", []byte("ID3..."))(w, r, b)
				return
			}
			ok(w, r, b)
		}, 4, nil},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := speaker(t, tc.answer)
			c := client(t, url)
			for range 2 {
				require.ErrorIs(t, speak(t, c, openai.Speech{Text: "Hello", Voice: "x", Speed: 1.5}).err, tc.err)
			}
			require.Len(t, asked(), tc.requests, "%v", asked())
		})
	}
}

func TestFaultsOfSpeakers(t *testing.T) {
	type answer = func(http.ResponseWriter, *http.Request, map[string]any)
	plain := func(h http.HandlerFunc) answer {
		return func(w http.ResponseWriter, r *http.Request, _ map[string]any) { h(w, r) }
	}
	for name, tc := range map[string]struct {
		answer answer
		err    error
		some   bool // of the sound came
	}{
		"401":     {plain(answers(401, "", "")), openai.ErrRefused, false},
		"429":     {plain(answers(429, "", "")), openai.ErrUnavailable, false},
		"500":     {plain(answers(500, "", "")), openai.ErrUnavailable, false},
		"a reset": {plain(reset), openai.ErrUnavailable, false},
		"late":    {plain(hang), openai.ErrUnavailable, false},
		"stops moving": {func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
			w.Write(raws(1, 2, 3))
			hang(w, r)
		}, openai.ErrUnavailable, true},
		"breaks off": {func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
			w.Header().Set("Content-Length", "100")
			w.Write(raws(1, 2, 3))
		}, openai.ErrUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := speaker(t, tc.answer)
			got := speak(t, client(t, url, func(c *openai.Config) { c.IdleTimeout = 100 * time.Millisecond }), openai.Speech{Text: "x"})
			require.ErrorIs(t, got.err, tc.err)
			require.Equal(t, tc.some, len(got.pcm) > 0)
			require.Len(t, asked(), 1)
		})
	}
}

func TestTheListenerMayStopASpeaker(t *testing.T) {
	gone := make(chan struct{})
	url, _ := speaker(t, func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		w.Write(raws(slices.Repeat([]int16{5}, 9600)...))
		hang(w, r)
		close(gone)
	})
	enough := errors.New("enough")
	require.ErrorIs(t, client(t, url).Speak(t.Context(), openai.Speech{Text: "x"}, func([]int16, int) error { return enough }), enough)
	<-gone // the connection is dropped
}

func TestAFreshRequestHasAConnectionOfItsOwn(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.RemoteAddr]++
		mu.Unlock()
		sends("audio/pcm", raws(1, 2))(w, r, nil)
	}))
	t.Cleanup(s.Close)
	c := client(t, s.URL)
	require.NoError(t, c.Connect(t.Context()))
	for range 2 {
		require.NoError(t, speak(t, c, openai.Speech{Text: "x"}).err)
	}
	require.Len(t, seen, 1, "a warm connection is used again")
	require.NoError(t, c.Speak(openai.Fresh(t.Context()), openai.Speech{Text: "x"}, func([]int16, int) error { return nil }))
	require.Len(t, seen, 2)
}

// canned answers every request with the same bytes.
type canned struct {
	kind string
	body []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(bytes.NewReader(c.body)), Request: r}, nil
}

func TestNoAnswerOfAServerBreaksUs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "body")
		if rapid.Bool().Draw(rt, "as a WAV file") {
			body = append(wav(rapid.SampledFrom([]int{1, 3, 0xfffe, 7}).Draw(rt, "coding"), rapid.IntRange(0, 9).Draw(rt, "channels"),
				rapid.SampledFrom([]int{0, 8000, 44100, 1 << 30}).Draw(rt, "rate"), rapid.SampledFrom([]int{0, 8, 16, 24, 32}).Draw(rt, "bits"),
				rapid.Uint32().Draw(rt, "size"), "", nil), body...)
			body = body[:rapid.IntRange(0, len(body)).Draw(rt, "cut")]
		}
		kind := rapid.SampledFrom([]string{"", "audio/pcm", "audio/wav", "text/event-stream", "application/json", "text/plain", "audio/pcm; rate=-1", ";;"}).Draw(rt, "kind")
		c := client(t, "http://x", func(c *openai.Config) { c.Transport = canned{kind, body} })
		got := said{}
		got.err = c.Speak(t.Context(), openai.Speech{Text: "x"}, func(pcm []int16, rate int) error {
			got.pcm, got.rate = append(got.pcm, pcm...), rate
			return nil
		})
		require.True(rt, got.err != nil || len(got.pcm) > 0 && got.rate > 0)
		if _, err := c.Transcribe(t.Context(), sound, nil); err != nil {
			var e *openai.Error
			require.ErrorAs(rt, err, &e)
		}
	})
}
