package portal_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"pgregory.net/rapid"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/portal"
)

// services answer each call by a func, as those behind the connection inside the process would.
type services func(ctx context.Context, method string, in, out any) error

func (s services) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	return s(ctx, method, in, out)
}

func (services) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	panic("no page of these tests streams")
}

// failing refuses everything.
func failing(err error) services {
	return func(context.Context, string, any, any) error { return fault.Status(err).Err() }
}

func ask(t testing.TB, s services, method, target string, log *bytes.Buffer) *httptest.ResponseRecorder {
	t.Helper()
	h := portal.New(portal.Config{Conn: s, Log: slog.New(slog.NewJSONHandler(log, nil))})
	r := httptest.NewRequest(method, target, nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestWhatFailsHasAPage(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		title  string
	}{
		{fault.From(http.ErrBodyNotAllowed), 500, "Something went wrong"},
		{fault.New(fault.Denied, "forbidden", "viewers may not do this"), 403, "Not allowed"},
		{&fault.Error{Kind: fault.TooMany, Code: "rate_limited", Message: "too many tries, wait a while", RetryAfter: 90 * time.Minute}, 429, "Slow down a little"},
		{&fault.Error{Kind: fault.Unavailable, Code: "unavailable", Message: "the database is away", RetryAfter: 3 * time.Second}, 503, "Something went wrong"},
		{fault.New(fault.Timeout, "deadline_exceeded", "it took too long"), 504, "Something went wrong"},
	} {
		var log bytes.Buffer
		w := ask(t, failing(c.err), "GET", "/sign-in", &log)
		require.Equal(t, c.status, w.Code)
		require.Contains(t, w.Body.String(), "<h1>"+c.title+"</h1>")
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		if c.status == 429 {
			require.Equal(t, "5400", w.Header().Get("Retry-After"))
			require.Contains(t, w.Body.String(), "Too many tries, wait a while: try again in 90 minutes.")
		}
		require.NotContains(t, w.Body.String(), http.ErrBodyNotAllowed.Error(), "the cause is for the log of the services")
	}
}

func TestAPanicIsAPageAndALine(t *testing.T) {
	var log bytes.Buffer
	w := ask(t, func(context.Context, string, any, any) error { panic("CANARY") }, "GET", "/sign-in", &log)
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), "Something went wrong on our side.")
	require.NotContains(t, w.Body.String(), "CANARY")
	require.Contains(t, log.String(), "CANARY")
}

var nextField = regexp.MustCompile(`name="next" value="([^"]*)"`)

// Whatever a link to us says, nobody is sent elsewhere.
func TestNobodyIsSentElsewhere(t *testing.T) {
	ok := services(func(_ context.Context, _ string, _, out any) error {
		out.(*callwrightv1.GetSignInResponse).SignUpOpen = true
		return nil
	})
	rapid.Check(t, func(t *rapid.T) {
		next := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`[/\\]{0,3}(keys|pair|calls/x|evil\.example\.com)[/\\?#@:.%a-f0-9]{0,12}`),
			rapid.StringMatching(`(https?:|javascript:|//|/\\|/%5c|/%2f)[a-z./@]{0,20}`),
		).Draw(t, "next")
		var log bytes.Buffer
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/sign-in?next="+url.QueryEscape(next), nil)
		r.Header.Set("Accept", "text/html")
		portal.New(portal.Config{Conn: ok, Log: slog.New(slog.NewJSONHandler(&log, nil))}).ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatalf("%d", w.Code)
		}
		got := nextField.FindStringSubmatch(w.Body.String())
		if got == nil || !strings.HasPrefix(got[1], "/") || strings.HasPrefix(got[1], "//") || strings.ContainsAny(got[1], "\\\r\n") {
			t.Fatalf("%q leads to %q", next, got)
		}
	})
}

// Any path is answered: by a page, by who answers programs, or by the page that says there is nothing.
func FuzzPaths(f *testing.F) {
	for _, path := range []string{"/", "/keys", "/calls/x", "/calls/x/recording", "/calls//", "/assets/", "/assets/x/../portal.css", "//keys", "/%00"} {
		f.Add(path, "GET")
		f.Add(path, "POST")
	}
	h := portal.New(portal.Config{Conn: failing(fault.New(fault.Unauthenticated, "unauthorized", "no")), Log: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, path, method string) {
		u, err := url.Parse("http://127.0.0.1" + path)
		if err != nil || u.Host != "127.0.0.1" {
			t.Skip()
		}
		r, err := http.NewRequest(method, u.String(), strings.NewReader("a=b"))
		if err != nil {
			t.Skip()
		}
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%s %q: %d", method, path, w.Code)
		}
	})
}

// Where there is neither TLS nor this machine, browsers send no Sec-Fetch-Site; what tells our forms from others is Origin,
// which no-referrer would take away.
func TestFormsWorkInAPlainNetworkToo(t *testing.T) {
	ok := services(func(context.Context, string, any, any) error { return nil })
	h := portal.New(portal.Config{Conn: ok})
	for host, referrer := range map[string]string{
		"127.0.0.1:8080": "no-referrer", "localhost:8080": "no-referrer", "[::1]:8080": "no-referrer", "app.localhost": "no-referrer",
		"192.168.1.5:8080": "same-origin", "calls.example.com": "same-origin",
	} {
		r := httptest.NewRequest("GET", "/sign-in", nil)
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, referrer, w.Header().Get("Referrer-Policy"), host)
		for origin, status := range map[string]int{"http://" + host: 200, "http://evil.example.com": 403, "null": 403} {
			r := httptest.NewRequest("POST", "/sign-in", strings.NewReader("email=a"))
			r.Host = host
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", origin)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, status, w.Code, "%s from %s", host, origin)
		}
	}
}
