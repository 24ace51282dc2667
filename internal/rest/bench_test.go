package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
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
