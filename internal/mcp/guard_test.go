package mcp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/mcp"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestGuardAnswersWhoThenHowOftenThenInWhatForm(t *testing.T) {
	_, url := start(t, func(c *mcp.Config) {
		c.Admit = func(_ context.Context, caller string) (time.Duration, bool) {
			return 1500 * time.Millisecond, caller != "good"
		}
	})
	bad := map[string]string{"Authorization": "Bearer bad", "Accept": "application/json"}
	r, body := post(t, url, ping, bad)
	require.Equal(t, http.StatusUnauthorized, r.StatusCode, "before the limit")
	require.Equal(t, "api_key_invalid", body["error_code"])
	require.Equal(t, "Bearer", r.Header.Get("WWW-Authenticate"))

	r, body = post(t, url, ping, map[string]string{"Authorization": ""})
	require.Equal(t, http.StatusUnauthorized, r.StatusCode)
	require.Contains(t, body["message"], "Authorization is missing")

	r, body = post(t, url, ping, map[string]string{"Accept": "application/json"})
	require.Equal(t, http.StatusTooManyRequests, r.StatusCode, "before the form")
	require.Equal(t, "2", r.Header.Get("Retry-After"))
	require.Equal(t, "rate_limited", body["error_code"])
}

func TestTryingManyKeysIsLimitedForTheAddress(t *testing.T) {
	tried := map[string]int{}
	_, url := start(t, func(c *mcp.Config) {
		c.Admit = func(_ context.Context, caller string) (time.Duration, bool) {
			tried[caller]++
			return time.Minute, tried[caller] <= 2
		}
	})
	wrong := map[string]string{"Authorization": "Bearer wrong"}
	for range 2 {
		r, _ := post(t, url, ping, wrong)
		require.Equal(t, http.StatusUnauthorized, r.StatusCode)
	}
	r, body := post(t, url, ping, wrong)
	require.Equal(t, http.StatusTooManyRequests, r.StatusCode)
	require.Equal(t, "rate_limited", body["error_code"])
	require.Equal(t, "60", r.Header.Get("Retry-After"))
	r, _ = post(t, url, ping, map[string]string{"Authorization": ""})
	require.Equal(t, http.StatusUnauthorized, r.StatusCode, "without a key nothing was tried")
	r, _ = post(t, url, ping, nil)
	require.Equal(t, http.StatusOK, r.StatusCode, "a good key from the same address")
	require.Equal(t, map[string]int{"address 127.0.0.1": 3, "good": 1}, tried)
}

func TestBothMediaTypesMustBeAccepted(t *testing.T) {
	_, url := start(t, nil)
	for accept, status := range map[string]int{
		"application/json, text/event-stream":             http.StatusOK,
		"text/event-stream;q=0.5,application/json; v=1":   http.StatusOK,
		"APPLICATION/JSON, Text/Event-Stream":             http.StatusOK,
		"application/json":                                http.StatusNotAcceptable,
		"text/event-stream":                               http.StatusNotAcceptable,
		"*/*":                                             http.StatusNotAcceptable,
		"application/jsonx, text/event-stream":            http.StatusNotAcceptable,
		"text/html,application/json;q=0.9,text/plain, , ": http.StatusNotAcceptable,
	} {
		r, body := post(t, url, ping, map[string]string{"Accept": accept})
		require.Equal(t, status, r.StatusCode, accept)
		if status == http.StatusNotAcceptable {
			require.Equal(t, "not_acceptable", body["error_code"])
		}
	}
}

func TestTheBodyIsJSONWhateverItIsCalled(t *testing.T) {
	_, url := start(t, nil)
	for _, media := range []string{"", "application/x-www-form-urlencoded", "text/plain; charset=utf-8"} {
		r, body := post(t, url, ping, map[string]string{"Content-Type": media})
		require.Equal(t, http.StatusOK, r.StatusCode, media)
		require.Contains(t, body, "result")
	}
}

func TestOnlyPostsToTheServersOwnNameAreServed(t *testing.T) {
	_, url := start(t, nil)
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode, method)
		require.Equal(t, "POST", answer.Header.Get("Allow"))
	}
	r, _ := post(t, url, ping, map[string]string{"Host": "evil.example"})
	require.Equal(t, http.StatusForbidden, r.StatusCode, "a page that gave itself a loopback address")
	r, _ = post(t, url, ping, map[string]string{"Origin": "https://evil.example"})
	require.Equal(t, http.StatusForbidden, r.StatusCode)
	r, _ = post(t, url, ping, map[string]string{"Host": "localhost:8080", "Origin": "http://localhost:8080"})
	require.Equal(t, http.StatusOK, r.StatusCode)

	_, public := start(t, func(c *mcp.Config) { c.PublicURL = "https://voice.example.com" })
	r, _ = post(t, public, ping, map[string]string{"Host": "voice.example.com", "Origin": "https://voice.example.com"})
	require.Equal(t, http.StatusOK, r.StatusCode, "behind a proxy on the same machine")
	r, _ = post(t, public, ping, map[string]string{"Host": "evil.example"})
	require.Equal(t, http.StatusForbidden, r.StatusCode)
}

func TestBigBodiesAreRefused(t *testing.T) {
	_, url := start(t, nil)
	r, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", 1<<20)+`"}}`, nil)
	require.Equal(t, http.StatusRequestEntityTooLarge, r.StatusCode)
	require.Equal(t, "body_too_large", body["error_code"])
}
