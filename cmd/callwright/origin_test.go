package main_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	main "github.com/callwright/callwright/cmd/callwright"
)

func TestAnOriginIsNoMoreThanAnOrigin(t *testing.T) {
	for _, origin := range []string{"app.example.com", "https://app.example.com/", "https://app.example.com/x", "ftp://a", "https://", "*.example.com"} {
		var out, log bytes.Buffer
		code := main.Run(t.Context(), []string{"serve", "--data-dir", t.TempDir(), "--cors-origin", origin}, &out, &log)
		require.NotZero(t, code, origin)
		require.Contains(t, log.String(), "--cors-origin must look like https://app.example.com")
	}
}

func TestPagesAreLetInByTheSetting(t *testing.T) {
	dir := t.TempDir()
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, "--cors-origin", "https://a.example.com", "--cors-origin", "http://localhost:3000")
	for origin, allowed := range map[string]string{
		"https://a.example.com": "https://a.example.com", "http://localhost:3000": "http://localhost:3000", "https://b.example.com": "",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, f.APIURL+"/call", nil)
		require.NoError(t, err)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, allowed, resp.Header.Get("Access-Control-Allow-Origin"))
	}
}
