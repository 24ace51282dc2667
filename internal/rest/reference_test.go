package rest_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/rest"
)

func TestTheDescriptionIsPublicCachedAndNotThrottled(t *testing.T) {
	f := start(t, func(c *rest.Config) { c.RateLimit = 1 })
	var tag string
	for range 5 {
		resp, body := f.do("GET", "/openapi.json", "")
		require.Equal(t, 200, resp.StatusCode)
		require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
		require.Equal(t, "public, max-age=300", resp.Header.Get("Cache-Control"))
		require.Empty(t, resp.Header.Get("RateLimit-Limit"))
		require.EqualValues(t, len(body), resp.ContentLength)
		tag = resp.Header.Get("ETag")
		require.NotEmpty(t, tag)
	}
	resp, body := f.do("GET", "/openapi.json", "", "If-None-Match", tag)
	require.Equal(t, 304, resp.StatusCode)
	require.Empty(t, body)
	head, body := f.do("HEAD", "/openapi.json", "")
	require.Equal(t, 200, head.StatusCode)
	require.Empty(t, body)
	require.Equal(t, tag, head.Header.Get("ETag"))
}

func TestTheReferenceAnswersGetAlone(t *testing.T) {
	f := start(t)
	for _, path := range []string{"/openapi.json", "/docs", "/docs/"} {
		resp, body := f.do("POST", path, `{}`)
		refused(t, resp, body, 405, "method_not_allowed")
		require.Equal(t, "GET, HEAD, OPTIONS", resp.Header.Get("Allow"))
		resp, _ = f.do("OPTIONS", path, "")
		require.Equal(t, 204, resp.StatusCode)
		require.Equal(t, "GET, HEAD, OPTIONS", resp.Header.Get("Allow"))
	}
	for _, path := range []string{"/docs/nothing.js", "/docsx", "/openapi.jsonx", "/v1/openapi.json"} {
		resp, body := f.do("GET", path, "")
		refused(t, resp, body, 404, "route_not_found")
	}
}

// The page and all it loads come from here, and the policy lets nothing else in: it works without a network.
func TestTheReferencePageBringsEverythingWithIt(t *testing.T) {
	f := start(t)
	resp, _ := f.do("GET", "/docs", "")
	require.Equal(t, 308, resp.StatusCode)
	require.Equal(t, "docs/", resp.Header.Get("Location"))
	resp, page := f.do("GET", "/docs/", "")
	require.Equal(t, 200, resp.StatusCode)
	policy := resp.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "script-src 'self' 'unsafe-inline'")
	require.NotContains(t, policy, "http")
	require.Equal(t, "DENY", resp.Header.Get("X-Frame-Options"))
	require.Equal(t, "nosniff", resp.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "no-referrer", resp.Header.Get("Referrer-Policy"))

	loads := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, loads)
	for _, l := range loads {
		require.True(t, strings.HasPrefix(l[1], "./"), "%s is not relative", l[1])
		resp, body := f.do("GET", "/docs/"+strings.TrimPrefix(l[1], "./"), "")
		require.Equal(t, 200, resp.StatusCode, l[1])
		require.NotEmpty(t, body)
		require.Equal(t, policy, resp.Header.Get("Content-Security-Policy"))
	}
	inline := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, inline)
	for _, s := range inline {
		sum := sha256.Sum256([]byte(s[1]))
		require.Contains(t, policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "an inline script would not run")
	}
	require.NotRegexp(t, `<[^>]* on[a-z]+=`, page, "handlers in attributes would not run")
	require.Contains(t, page, `../openapi.json`)
}

func TestCompressedAssetsAreWholeFiles(t *testing.T) {
	f := start(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", f.url+"/docs/swagger-ui-bundle.js", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r) // asks for gzip and undoes it
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Greater(t, len(b), 1<<20)
	require.Contains(t, resp.Header.Get("Content-Type"), "javascript")
}
