package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/grpc"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/rest"
	"github.com/callwright/callwright/internal/server"
)

type sink struct{ h http.Header }

func (s *sink) Header() http.Header         { return s.h }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
func (s *sink) WriteHeader(int)             {}

// BenchmarkFacade reads one call through throttle, gateway, the connection inside the process and every interceptor, beside
// a bare handler that writes the same members.
func BenchmarkFacade(b *testing.B) {
	s := server.New(server.Config{
		Register:     func(r grpc.ServiceRegistrar) { v1.RegisterCallServiceServer(r, &calls{}) },
		Authenticate: authenticate, Log: slog.New(slog.NewJSONHandler(discard{}, nil)),
	})
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "c1", "workspace_id": "full", "metadata": json.RawMessage("{}")})
	})
	for name, h := range map[string]http.Handler{
		"bare": bare, "facade": rest.New(rest.Config{Conn: s.Conn(), Caller: s.Caller, RateLimit: 1 << 40}),
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/v1/call/c1", nil)
			r.Header.Set("Authorization", "Bearer full")
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(&sink{http.Header{}}, r)
			}
		})
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
