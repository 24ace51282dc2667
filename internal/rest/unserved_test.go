package rest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/rest"
)

// watched tells whether anybody read of a body.
type watched struct {
	io.Reader
	read bool
}

func (w *watched) Read(b []byte) (int, error) {
	w.read = true
	return w.Reader.Read(b)
}

// door is a handler whose one good token is "good" until it is revoked. Its fake services, unlike the real ones, serve
// everybody: an answer 200 shows that they were asked.
func door(limit int, revoked *atomic.Bool, reg prometheus.Registerer, log io.Writer) http.Handler {
	return rest.New(rest.Config{
		Conn: conn(&services{call: newCall()}), RateLimit: limit, Metrics: reg, Log: slog.New(slog.NewJSONHandler(log, nil)),
		Caller: func(_ context.Context, token string) (string, error) {
			switch {
			case token == "good" && !revoked.Load():
				return "key good", nil
			case token == "database is away":
				return "", errors.New("away")
			}
			return "", fault.New(fault.Unauthenticated, "unauthorized", "nobody has this token")
		},
	})
}

func TestWhoMayNotAskIsToldSoBeforeWhatIsWrongWithTheRequest(t *testing.T) {
	for name, limit := range map[string]int{"with a limit": 1000, "without one": 0} {
		t.Run(name, func(t *testing.T) {
			var revoked atomic.Bool
			h := door(limit, &revoked, nil, io.Discard)
			ask := func(line, token, body string) (*httptest.ResponseRecorder, bool) {
				verb, path, _ := strings.Cut(line, " ")
				sent := &watched{Reader: strings.NewReader(body)}
				r := httptest.NewRequest(verb, path, sent)
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w, sent.read
			}
			wrong := map[string]string{
				"POST /v1/call": `{"to":`, "GET /v1/call?take=abc": "", "GET /v1/call?where=[": "", "GET /v1/call?a=%zz": "",
				"PUT /v1/agents/a1": strings.Repeat("x", 9<<20),
			}
			for line, body := range wrong {
				w, _ := ask(line, "good", body)
				require.Contains(t, []int{400, 413}, w.Code, line)
				for _, token := range []string{"", "bad"} {
					w, read := ask(line, token, body)
					if token == "" || limit > 0 { // the services are asked, and would say 401
						require.Equal(t, 200, w.Code, "%s with %q: %s", line, token, w.Body)
						require.False(t, read, "the body of a stranger is not read")
						continue
					}
					require.Equal(t, 401, w.Code, line)
					require.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
				}
				w, _ = ask(line, "database is away", body)
				require.Contains(t, []int{400, 413}, w.Code, "who asks is not known")
			}
			revoked.Store(true)
			for line, body := range wrong {
				w, _ := ask(line, "good", body)
				require.Equal(t, 401, w.Code, "%s: the throttle still knows the key, nobody else does", line)
			}
			w, _ := ask("POST /v1/agent/onboarding/start", "", `{"client_name":`)
			require.Equal(t, 400, w.Code, "it needs no credential")
			w, _ = ask("POST /agent/onboarding/poll", "bad", `[`)
			require.Equal(t, 400, w.Code)
			w, _ = ask("GET /v1/nothing?a=%zz", "", "")
			require.Equal(t, 404, w.Code)
		})
	}
}

func TestWhatNoServiceSeesIsLoggedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		reg := prometheus.NewRegistry()
		h := door(8, new(atomic.Bool), reg, &log)
		ask := func(line, body string) {
			verb, path, _ := strings.Cut(line, " ")
			r := httptest.NewRequest(verb, path, strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer good")
			r.Header.Set("X-Request-Id", "my-id")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		ask("GET /v1/call/c1", "")
		require.Empty(t, log.String(), "the services do it")
		ask("GET /v1/jane@example.com", "")
		ask("PATCH /v1/call", "")
		ask("POST /call", "{")
		ask("GET /v1/call?take=x", "")
		ask("POST /v1/call", strings.Repeat(" ", 9<<20))
		ask("OPTIONS /v1/call", "")
		ask("GET /v1/call/c1", "")
		for range 5 {
			ask("GET /v1/call/c1", "")
		}
		time.Sleep(time.Second)
		ask("GET /v1/call/c1", "")
		var codes []string
		for line := range strings.Lines(log.String()) {
			require.Contains(t, line, `"msg":"refused"`)
			require.Contains(t, line, `"request_id":"my-id"`)
			_, code, _ := strings.Cut(line, `"code":"`)
			code, _, _ = strings.Cut(code, `"`)
			codes = append(codes, code)
		}
		require.Equal(t, []string{"route_not_found", "method_not_allowed", "validation_failed", "validation_failed", "body_too_large",
			"rate_limited", "rate_limited"}, codes, "many throttled requests have one line a second")
		require.Contains(t, log.String(), `"requests":5`)
		require.NotContains(t, log.String(), "jane")
		families, err := reg.Gather()
		require.NoError(t, err)
		require.Len(t, families, 1)
		require.Equal(t, "callwright_rest_refused_total", families[0].GetName())
		counted := map[string]float64{}
		for _, m := range families[0].GetMetric() {
			counted[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
		require.Equal(t, map[string]float64{"body_too_large": 1, "method_not_allowed": 1, "rate_limited": 6, "route_not_found": 1,
			"validation_failed": 2}, counted)
	})
}
