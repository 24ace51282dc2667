package main_test

import (
	"bytes"
	"log"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	main "github.com/callwright/callwright/cmd/callwright"
)

func TestATrustedProxyIsANetworkOrAnAddress(t *testing.T) {
	for _, bad := range []string{"proxy.example.com", "10.0.0.0/33", "10.0.0.1:80", "*"} {
		var out, errors bytes.Buffer
		code := main.Run(t.Context(), []string{"serve", "--data-dir", t.TempDir(), "--trusted-proxy", bad}, &out, &errors)
		require.NotZero(t, code, bad)
		require.Contains(t, errors.String(), "--trusted-proxy must look like 10.0.0.0/8")
	}
}

// Limits by address count what stands behind the proxies that are trusted, and nobody's word otherwise.
func TestLimitsCountTheClientBehindATrustedProxy(t *testing.T) {
	for name, c := range map[string]struct {
		args         []string
		apart, claim int
	}{
		"trusted":     {[]string{"--trusted-proxy", "127.0.0.1", "--trusted-proxy", "10.0.0.0/8"}, http.StatusCreated, http.StatusTooManyRequests},
		"not trusted": {nil, http.StatusTooManyRequests, http.StatusTooManyRequests},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, append(c.args, "--pairing-start-limit", "2")...)
			start := func(forwarded string) int {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.APIURL+"/agent/onboarding/start", nil)
				require.NoError(t, err)
				req.Header.Set("X-Forwarded-For", forwarded)
				resp, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				resp.Body.Close()
				return resp.StatusCode
			}
			require.Equal(t, http.StatusCreated, start("203.0.113.7"))
			require.Equal(t, http.StatusCreated, start("203.0.113.7, 10.1.2.3"))
			require.Equal(t, http.StatusTooManyRequests, start("203.0.113.7"))
			require.Equal(t, c.apart, start("203.0.113.8"))
			require.Equal(t, c.claim, start("198.51.100.1, 203.0.113.7"), "a client may write what it likes in front")
		})
	}
}

// What libraries write to the standard log, net/http's "Unsolicited response" among it, is a line of ours.
func TestTheStandardLogIsThatOfTheProgram(t *testing.T) {
	dir := t.TempDir()
	_, stop := installation{dir, []string{"--data-dir", dir}}.dev(t)
	log.Print("Unsolicited response received on idle HTTP channel")
	require.Contains(t, stop(), `"msg":"Unsolicited response received on idle HTTP channel"`)
}
