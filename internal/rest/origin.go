package rest

import (
	"net/http"
	"slices"
	"strings"
)

// origins are the web pages that may use this service from a browser; "*" is all of them. Credentials travel in
// Authorization and never in cookies, so Access-Control-Allow-Credentials is never sent and "*" gives no page more than
// its own key allows.
type origins []string

const (
	// corsMethods and corsHeaders are what requests of ours may have; it tells nobody which paths there are.
	corsMethods = "GET, HEAD, POST, PUT, DELETE, OPTIONS"
	corsHeaders = "Authorization, Content-Type, Idempotency-Key, Service-Version, X-Request-Id, Range, If-Range, " +
		"If-None-Match, If-Match"
	corsExposed = "Service-Version, X-Request-Id, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, " +
		"Idempotency-Replayed, Allow, ETag, Accept-Ranges, Content-Range, Content-Length"
	corsAge = "7200" // seconds; browsers cap it there
)

// answer writes what a browser asks for and answers a preflight, which is true. Preflights are not throttled: they carry
// no credential that they could be counted against, and cost nothing.
func (o origins) answer(w http.ResponseWriter, r *http.Request) bool {
	if len(o) == 0 {
		return false
	}
	h := w.Header()
	all := slices.Contains(o, "*")
	if !all {
		h.Add("Vary", "Origin") // also when there is none: caches keep the answer
	}
	origin := r.Header.Get("Origin")
	if origin == "" || !all && !slices.ContainsFunc(o, func(one string) bool { return strings.EqualFold(one, origin) }) {
		return false
	}
	if all {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
