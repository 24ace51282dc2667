package server

import (
	"net/http"
	"strings"
)

// mounts are the handlers of the HTTP listener by path. http.ServeMux is not used because it answers a path with // or ..
// by a redirect of its own, before any handler.
type mounts struct {
	exact map[string]http.Handler
	trees []tree
}

// tree is a handler for everything below a prefix that ends in "/".
type tree struct {
	prefix string
	h      http.Handler
}

// Mount adds a handler: for one path, or, when the pattern ends in "/", for that path and all below it. The longest
// pattern wins. It must be called before Run.
func (s *Server) Mount(pattern string, h http.Handler) {
	m := &s.mounts
	if !strings.HasSuffix(pattern, "/") {
		if m.exact == nil {
			m.exact = map[string]http.Handler{}
		}
		m.exact[pattern] = h
		return
	}
	i := 0
	for i < len(m.trees) && len(m.trees[i].prefix) > len(pattern) {
		i++
	}
	m.trees = append(m.trees[:i], append([]tree{{pattern, h}}, m.trees[i:]...)...)
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	proxies(s.c.TrustedProxies).resolve(r)
	if h, ok := s.mounts.exact[r.URL.Path]; ok {
		h.ServeHTTP(w, r)
		return
	}
	for _, t := range s.mounts.trees {
		if strings.HasPrefix(r.URL.Path, t.prefix) {
			t.h.ServeHTTP(w, r)
			return
		}
	}
	answer(w, http.StatusNotFound, "route_not_found", "there is nothing here")
}
