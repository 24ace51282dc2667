package rest_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/rest"
)

// limited is a handler with a limit. Tokens t1, t2 … of user x are "x/t1", "x/t2" …; any other token is nobody's.
func limited(limit int, asked *atomic.Int64) http.Handler {
	return rest.New(rest.Config{
		Conn: conn(&services{call: newCall()}), RateLimit: limit, Log: slog.New(slog.DiscardHandler),
		Caller: func(_ context.Context, token string) (string, error) {
			asked.Add(1)
			for i := range token {
				if token[i] == '/' {
					return "user " + token[:i], nil
				}
			}
			return "", fault.New(fault.Unauthenticated, "unauthorized", "nobody")
		},
	})
}

func get(h http.Handler, addr, token string) *httptest.ResponseRecorder {
	return getPath(h, addr, token, "/v1/call/c1")
}

func getPath(h http.Handler, addr, token, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.RemoteAddr = addr
	if token != "" {
		r.Header.Set("Authorization", "bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Over any sequence of requests of several callers, the throttle answers as a list of the accepted times does: refused
// exactly when 60 s hold the limit already, and then Retry-After is the shortest wait that helps.
func TestNoWindowHoldsMoreThanTheLimitAndNoneRefusesWithRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) { // wrapped: rapid would ask for the deadline, which a bubble has none of
			limit := rapid.IntRange(1, 6).Draw(t, "limit")
			var asked atomic.Int64
			h := limited(limit, &asked)
			accepted := map[string][]time.Time{}
			for range rapid.IntRange(1, 80).Draw(t, "requests") {
				if d := rapid.SampledFrom([]int64{0, 0, 0, 1, 999, 10_000, 30_000, 59_999, 60_000, 200_000}).Draw(t, "pause ms"); d > 0 {
					time.Sleep(time.Duration(d) * time.Millisecond)
				}
				user := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "user")
				caller, token := user, ""
				addr := fmt.Sprintf("10.0.0.%d:99", rapid.IntRange(1, 2).Draw(t, "address"))
				if user == "" {
					caller = addr
				} else {
					token = fmt.Sprintf("%s/%d", user, rapid.IntRange(1, 3).Draw(t, "token"))
				}
				now := time.Now()
				var inside []time.Time
				for _, at := range accepted[caller] {
					if now.Sub(at) < time.Minute {
						inside = append(inside, at)
					}
				}
				w := get(h, addr, token)
				hd := w.Header()
				require.Equal(t, strconv.Itoa(limit), hd.Get("RateLimit-Limit"))
				if len(inside) < limit {
					require.Equal(t, 200, w.Code)
					accepted[caller] = append(inside, now)
					require.Equal(t, strconv.Itoa(limit-len(inside)-1), hd.Get("RateLimit-Remaining"))
					continue
				}
				require.Equal(t, 429, w.Code)
				wait := strconv.Itoa(int(math.Ceil((time.Minute - now.Sub(inside[0])).Seconds())))
				require.Equal(t, wait, hd.Get("Retry-After"))
				require.Equal(t, wait, hd.Get("RateLimit-Reset"))
				require.Equal(t, "0", hd.Get("RateLimit-Remaining"))
			}
		})
	})
}

func TestRefusedRequestsDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := limited(2, &asked)
		for range 50 {
			get(h, "10.0.0.1:1", "")
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second) // the first two were accepted at 0 s and 1 s
		require.Equal(t, 200, get(h, "10.0.0.1:1", "").Code)
	})
}

func TestEveryPathAndMethodCounts(t *testing.T) {
	f := start(t, func(c *rest.Config) { c.RateLimit = 6 })
	for _, r := range [][2]string{{"GET", "/v1/call/c1"}, {"GET", "/call/c1"}, {"GET", "/nothing"}, {"PATCH", "/v1/call"}, {"OPTIONS", "/v1/call"}, {"POST", "/v1/call"}} {
		resp, _ := f.do(r[0], r[1], "")
		require.NotEqual(t, 429, resp.StatusCode)
		require.NotEmpty(t, resp.Header.Get("RateLimit-Reset"))
	}
	resp, body := f.do("GET", "/call/c1", "")
	refused(t, resp, body, 429, "rate_limited")
}

func TestNoLimitMeansNoHeaders(t *testing.T) {
	f := start(t)
	resp, _ := f.do("GET", "/v1/call/c1", "")
	require.Empty(t, resp.Header.Values("RateLimit-Limit"))
}

func TestMadeUpTokensBuyNeitherRoomNorWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 10
		var asked atomic.Int64
		h := limited(limit, &asked)
		require.Equal(t, 200, get(h, "10.0.0.1:1", "good/1").Code)
		passed := 0
		for i := range 500 {
			if get(h, "10.0.0.1:1", fmt.Sprint("made-up", i)).Code != 429 {
				passed++
			}
		}
		require.Equal(t, limit, passed, "they count against the address")
		require.Equal(t, 429, get(h, "10.0.0.1:2", "").Code, "and so does a request without a token")
		require.EqualValues(t, limit+1, asked.Load(), "a refused one asks nobody")
		require.Equal(t, 200, get(h, "10.0.0.1:1", "good/1").Code, "a token that is known goes on")
		require.Equal(t, 200, get(h, "10.0.0.2:1", "good/2").Code, "as does everybody elsewhere")
		time.Sleep(time.Minute)
		require.Equal(t, 200, get(h, "10.0.0.1:1", "late/1").Code)
	})
}

func TestAnonymousRequestsDoNotCloseTheAddressToAKey(t *testing.T) {
	var asked atomic.Int64
	h := limited(3, &asked)
	for range 10 {
		get(h, "10.0.0.1:1", "")
	}
	require.Equal(t, 200, get(h, "10.0.0.1:1", "fresh/1").Code)
	require.Equal(t, 429, get(h, "10.0.0.1:1", "").Code)
}

func TestAddressesThatAreOneClient(t *testing.T) {
	var asked atomic.Int64
	h := limited(1, &asked)
	require.Equal(t, 200, get(h, "[2001:db8:1:2::1]:1", "").Code)
	require.Equal(t, 429, get(h, "[2001:db8:1:2:ffff::9]:1", "").Code, "a /64 is one client")
	require.Equal(t, 200, get(h, "[2001:db8:1:3::1]:1", "").Code)
	require.Equal(t, 200, get(h, "10.0.0.1:1", "").Code)
	require.Equal(t, 429, get(h, "[::ffff:10.0.0.1]:1", "").Code)
}

func TestRacingRequestsAreCountedExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, ok atomic.Int64
		h := limited(100, &asked)
		var wg sync.WaitGroup
		for i := range 400 {
			wg.Go(func() {
				// The fakes behind a real path are not made for racing calls.
				if getPath(h, "10.0.0.1:1", fmt.Sprintf("a/%d", i%7), "/v1/nothing").Code == 404 {
					ok.Add(1)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 100, ok.Load())
	})
}

func TestIdleCallersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		h := limited(100, &asked)
		for i := range 1000 {
			get(h, fmt.Sprintf("10.0.%d.%d:1", i/250, i%250), "")
			get(h, "10.9.9.9:1", fmt.Sprintf("user%d/t", i))
		}
		require.Equal(t, 3000, rest.Callers(h), "1,000 addresses, 1,000 users with a token each")
		time.Sleep(10 * time.Minute)
		for i := range 1000 {
			get(h, fmt.Sprintf("10.1.%d.%d:1", i/250, i%250), "")
		}
		require.Equal(t, 1000, rest.Callers(h))
	})
}
