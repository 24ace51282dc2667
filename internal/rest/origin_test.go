package rest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/rest"
)

const (
	page  = "https://app.example.com"
	other = "https://evil.example.com"
)

func allow(origins ...string) func(*rest.Config) {
	return func(c *rest.Config) { c.Origins = origins }
}

func TestBrowsersGetNothingUnlessTheyAreAllowed(t *testing.T) {
	f := start(t)
	for _, method := range []string{"GET", "OPTIONS"} {
		resp, _ := f.do(method, "/v1/call/c1", "", "Origin", page, "Access-Control-Request-Method", "GET")
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Origin"))
		require.Empty(t, resp.Header.Get("Vary"))
	}
}

func TestAnAllowedPageMayReadAnswersAndErrors(t *testing.T) {
	f := start(t, allow("http://localhost:3000", page))
	for path, status := range map[string]int{"/v1/call/c1": 200, "/v1/nothing": 404, "/openapi.json": 200, "/call/c1": 200} {
		resp, _ := f.do("GET", path, "", "Origin", page)
		require.Equal(t, status, resp.StatusCode)
		require.Equal(t, page, resp.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, resp.Header.Values("Vary"), "Origin")
		require.Contains(t, resp.Header.Get("Access-Control-Expose-Headers"), "RateLimit-Remaining")
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Credentials"))
	}
}

func TestAnotherPageGetsNoPermission(t *testing.T) {
	f := start(t, allow(page))
	for _, origin := range []string{other, "null", page + ".evil.com", "http://app.example.com", page + ":8443", ""} {
		for _, method := range []string{"GET", "OPTIONS"} {
			resp, _ := f.do(method, "/v1/call/c1", "", "Origin", origin, "Access-Control-Request-Method", "GET")
			for _, name := range []string{"Origin", "Methods", "Headers", "Credentials"} {
				require.Empty(t, resp.Header.Get("Access-Control-Allow-"+name), origin)
			}
			require.Contains(t, resp.Header.Values("Vary"), "Origin", "a cache must not give it to an allowed page")
		}
	}
}

func TestAPreflightSaysWhatMayBeSent(t *testing.T) {
	f := start(t, allow(page), func(c *rest.Config) { c.RateLimit = 2 })
	for range 10 {
		resp, body := f.do("OPTIONS", "/v1/call", "", "Origin", page, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,idempotency-key,service-version")
		require.Equal(t, 204, resp.StatusCode, "preflights are not throttled")
		require.Empty(t, body)
		require.Equal(t, page, resp.Header.Get("Access-Control-Allow-Origin"))
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			require.Contains(t, resp.Header.Get("Access-Control-Allow-Methods"), method)
		}
		for _, name := range []string{"Authorization", "Content-Type", "Idempotency-Key", "Service-Version", "Range"} {
			require.Contains(t, resp.Header.Get("Access-Control-Allow-Headers"), name)
		}
		require.NotEmpty(t, resp.Header.Get("Access-Control-Max-Age"))
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Credentials"))
	}
	require.Nil(t, f.placed)
	resp, _ := f.do("OPTIONS", "/v1/call", "", "Origin", page)
	require.Equal(t, "GET, HEAD, POST, OPTIONS", resp.Header.Get("Allow"), "without a wish it is a plain OPTIONS")
}

func TestAllPagesAreAllowedWithoutCredentials(t *testing.T) {
	f := start(t, allow("*"))
	for _, method := range []string{"GET", "OPTIONS"} {
		resp, _ := f.do(method, "/v1/call/c1", "", "Origin", other, "Access-Control-Request-Method", "GET")
		require.Equal(t, "*", resp.Header.Get("Access-Control-Allow-Origin"))
		require.Empty(t, resp.Header.Get("Access-Control-Allow-Credentials"))
	}
}

func TestARefusedRequestOfAnAllowedPageIsReadable(t *testing.T) {
	f := start(t, allow(page), func(c *rest.Config) { c.RateLimit = 1 })
	f.do("GET", "/v1/call/c1", "", "Origin", page)
	resp, body := f.do("GET", "/v1/call/c1", "", "Origin", page)
	refused(t, resp, body, 429, "rate_limited")
	require.Equal(t, page, resp.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, resp.Header.Get("Access-Control-Expose-Headers"), "Retry-After")
}
