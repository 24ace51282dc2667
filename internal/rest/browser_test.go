package rest_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A browser that reaches nothing but this machine shows every operation and has nothing to complain of.
func TestABrowserShowsTheReferenceWithoutANetwork(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("NOT TESTED: no chromium to show /docs in")
	}
	f := start(t)
	cmd := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000",
		"--user-data-dir="+t.TempDir(), "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=127.0.0.1", "--enable-logging=stderr",
		"--dump-dom", f.url+"/docs/")
	var log bytes.Buffer
	cmd.Stderr = &log
	dom, err := cmd.Output()
	require.NoError(t, err, log.String())
	for _, line := range strings.Split(log.String(), "\n") {
		require.NotContains(t, line, "CONSOLE")
	}
	for _, b := range allBound(t) {
		require.Contains(t, string(dom), "-"+strings.ToLower(string(b.method.Name()[:1]))+string(b.method.Name()[1:])+`"`, "%s is not on the page", b.Method)
	}
}
