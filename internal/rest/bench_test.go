package rest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// sink takes an answer and forgets it.
type sink struct{ h http.Header }

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

// BenchmarkFacade reads one call: through the façade with a fake service behind it, and as a bare handler would give the
// same bytes. The full list of interceptors is measured in internal/server.
func BenchmarkFacade(b *testing.B) {
	bare := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		c := newCall()
		_ = json.NewEncoder(w).Encode(map[string]any{"id": c.GetId(), "to": c.GetTo(), "from": c.GetFrom(),
			"metadata": json.RawMessage(c.GetMetadata()), "created_at": c.GetCreatedAt().AsTime(), "duration": nil})
	})
	for name, h := range map[string]http.Handler{"bare": bare, "facade": newHandler(b)} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/v1/call/c1", nil)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(&sink{http.Header{}}, r)
			}
		})
	}
}

// BenchmarkRefused is what requests cost that are not let in: of a caller over the limit, of strangers without a key and
// with made-up ones, and of strangers who send much.
func BenchmarkRefused(b *testing.B) {
	for name, c := range map[string]struct{ token, body string }{
		"over the limit": {token: "good"}, "without a key": {}, "made-up keys": {token: "made-up"},
		"a stranger's 8 MiB": {body: strings.Repeat(" ", 8<<20)},
	} {
		b.Run(name, func(b *testing.B) {
			h := door(1, new(atomic.Bool), nil, io.Discard)
			r := httptest.NewRequest("POST", "/v1/call", nil)
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Body = io.NopCloser(strings.NewReader(c.body))
				h.ServeHTTP(&sink{http.Header{}}, r)
			}
		})
	}
}
