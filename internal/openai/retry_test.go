package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/openai"
)

// script is a transport in virtual time: the n-th request gets the n-th answer, later ones the last.
type script struct {
	answers []func() (*http.Response, error)
	at      []time.Time
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	s.at = append(s.at, time.Now())
	return s.answers[min(len(s.at), len(s.answers))-1]()
}

func (s *script) pauses() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.at); i++ {
		all = append(all, s.at[i].Sub(s.at[i-1]))
	}
	return all
}

func answer(status int, body string, header ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

const verdict = `{"choices":[{"message":{"content":"{\"ok\":true,\"why\":null}"},"finish_reason":"stop"}]}`

func TestPausesBetweenAttempts(t *testing.T) {
	refused := func() (*http.Response, error) { return nil, errors.New("connection refused") }
	busy := answer(429, `{}`)
	good := answer(200, verdict)
	type band struct{ from, to time.Duration }
	ms := time.Millisecond
	cases := map[string]struct {
		answers []func() (*http.Response, error)
		kind    error
		pauses  []band
		after   time.Duration // Error.RetryAfter
	}{
		"a doubling pause with jitter": {
			[]func() (*http.Response, error){busy, refused, answer(503, ``), good}, nil,
			[]band{{400 * ms, 600 * ms}, {800 * ms, 1200 * ms}, {1600 * ms, 2400 * ms}}, 0,
		},
		"as long as the server asks": {
			[]func() (*http.Response, error){answer(429, `{}`, "Retry-After", "7"), good}, nil, []band{{7000 * ms, 7000 * ms}}, 0,
		},
		"a server's milliseconds": {
			[]func() (*http.Response, error){answer(429, `{}`, "Retry-After-Ms", "1500"), good}, nil, []band{{1500 * ms, 1500 * ms}}, 0,
		},
		"a server's date": {
			[]func() (*http.Response, error){answer(503, `{}`, "Retry-After", "Sat, 01 Jan 2000 00:00:10 GMT"), good}, nil, []band{{9990 * ms, 10000 * ms}}, 0,
		},
		"a date gone by": {
			[]func() (*http.Response, error){answer(503, `{}`, "Retry-After", "Fri, 31 Dec 1999 00:00:00 GMT"), good}, nil, []band{{400 * ms, 600 * ms}}, 0,
		},
		"a header nobody can read": {
			[]func() (*http.Response, error){answer(503, `{}`, "Retry-After", "soon"), good}, nil, []band{{400 * ms, 600 * ms}}, 0,
		},
		"longer than anybody waits": {
			[]func() (*http.Response, error){answer(429, `{}`, "Retry-After", "3600"), good}, openai.ErrUnavailable, nil, time.Hour,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: tc.answers}
				c, err := openai.New(openai.Config{URL: "http://model/v1", Model: "m", Transport: s})
				require.NoError(t, err)
				_, err = c.Complete(t.Context(), prompt, schema)
				require.ErrorIs(t, err, tc.kind)
				require.Len(t, s.pauses(), len(tc.pauses))
				for i, pause := range s.pauses() {
					require.GreaterOrEqual(t, pause, tc.pauses[i].from)
					require.LessOrEqual(t, pause, tc.pauses[i].to)
				}
				if e := new(openai.Error); errors.As(err, &e) {
					require.Equal(t, tc.after, e.RetryAfter)
				}
			})
		})
	}
}

func TestNoAttemptIsMadeThatCanNotEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func() (*http.Response, error){answer(429, `{}`, "Retry-After", "10")}}
		c, err := openai.New(openai.Config{URL: "http://model/v1", Model: "m", Transport: s, Timeout: 15 * time.Second})
		require.NoError(t, err)
		start := time.Now()
		_, err = c.Complete(t.Context(), prompt, schema)
		require.ErrorIs(t, err, openai.ErrUnavailable)
		require.Equal(t, 10*time.Second, time.Since(start), "one pause, and no second one into the deadline")
		require.Len(t, s.at, 2)
	})
}

func TestAPauseEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []func() (*http.Response, error){answer(429, `{}`, "Retry-After", "10")}}
		c, err := openai.New(openai.Config{URL: "http://model/v1", Model: "m", Transport: s})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		start := time.Now()
		_, err = c.Complete(ctx, prompt, schema)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}
