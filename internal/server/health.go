package server

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// healthz says that the process runs.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, http.StatusOK, map[string]any{"status": "ok"})
}

// readyz says whether requests should be sent here.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		answer(w, http.StatusServiceUnavailable, "unavailable", "the server is stopping")
		return
	}
	if err := s.ready.err(r.Context()); err != nil {
		s.c.Log.WarnContext(r.Context(), "not ready", "err", err)
		answer(w, http.StatusServiceUnavailable, "unavailable", "the database is not ready")
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{"status": "ready"})
}

// readyAge is how old an answer of Config.Ready may be; readyTimeout is how long it may take.
const (
	readyAge     = time.Second
	readyTimeout = 2 * time.Second
)

// readiness remembers the last answer of Config.Ready, so that probes can not become load.
type readiness struct {
	ask func(context.Context) error

	mu   sync.Mutex
	at   time.Time
	last error
}

func (r *readiness) err(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < readyAge {
		return r.last
	}
	// The answer serves other probes too: it must not depend on this one's patience.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	r.last = r.ask(ctx)
	r.at = time.Now()
	return r.last
}

// answer writes an error that no mounted handler could: the same shape as REST's (CONTRACT.md §1).
func answer(w http.ResponseWriter, status int, code, message string) {
	answerJSON(w, status, failure{status, code, message})
}

type failure struct {
	Status  int    `json:"status"`
	Code    string `json:"error_code"`
	Message string `json:"message"`
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	b, _ := json.Marshal(body) // constants and maps of them
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Service-Version", Version)
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
