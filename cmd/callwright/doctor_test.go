package main_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// examined is what doctor says with --json: findings by check.
func examined(t *testing.T, args ...string) (found map[string]map[string]string, ok bool) {
	t.Helper()
	out, errs, code := callwright(t, append([]string{"doctor", "--json", "--data-dir", t.TempDir(), "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}, args...)...)
	var report struct {
		OK     bool                `json:"ok"`
		Checks []map[string]string `json:"checks"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &report), "%s%s", out, errs)
	require.Equal(t, report.OK, code == 0)
	found = map[string]map[string]string{}
	for _, c := range report.Checks {
		found[c["check"]] = c
	}
	return found, report.OK
}

func TestDoctorOfAFreshInstallation(t *testing.T) {
	found, ok := examined(t)
	require.True(t, ok, found)
	for _, check := range []string{"settings", "data directory", "secret key", "database", "REST port", "gRPC port", "telephone line"} {
		require.Equal(t, "ok", found[check]["status"], check)
	}
	out, _, code := callwright(t, "doctor", "--data-dir", t.TempDir(), "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
	require.Zero(t, code)
	require.Contains(t, out, "ok        settings")
}

func TestDoctorSaysWhatIsBroken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refusing.Close()
	found, ok := examined(t, "--grpc-addr", taken.Addr().String(), "--llm-url", refusing.URL+"/v1", "--llm-model", "m", "--llm-key", "wrong")
	require.False(t, ok)
	require.Equal(t, "broken", found["gRPC port"]["status"])
	require.NotEmpty(t, found["gRPC port"]["advice"])
	require.Equal(t, "broken", found["language model"]["status"])
	require.NotContains(t, fmt.Sprint(found), "wrong", "keys are not printed")
	found, ok = examined(t, "--carrier", "sip", "--sip-trunk", "http://user:hush@example.com")
	require.False(t, ok)
	require.Equal(t, "broken", found["settings"]["status"])
	require.NotContains(t, fmt.Sprint(found), "hush")
}

func TestDoctorAsksTheTrunks(t *testing.T) {
	peer := siptest.StartSipp(t, scenarios+"uas_options.xml", "")
	found, ok := examined(t, "--carrier", "sip", "--sip-addr", fmt.Sprintf("127.0.0.1:%d", siptest.FreePort(t)), "--rtp-ports", "40000-40999",
		"--sip-trunk", fmt.Sprintf("sip://127.0.0.1:%d?name=there&from=%%2B12125550100", peer.Port),
		"--sip-trunk", fmt.Sprintf("sip://127.0.0.1:%d?name=gone", siptest.FreePort(t)))
	peer.Wait()
	require.False(t, ok)
	require.Equal(t, "ok", found["trunk there"]["status"], found)
	require.Equal(t, "broken", found["trunk gone"]["status"])
	require.Equal(t, "warning", found["trunk gone number"]["status"])
	for _, check := range []string{"SIP port", "sound ports 40000-40999", "trunk there is told"} {
		require.Equal(t, "ok", found[check]["status"], check)
	}
}
