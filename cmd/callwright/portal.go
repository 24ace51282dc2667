package main

import (
	"net/http"

	"github.com/callwright/callwright/internal/portal"
	"github.com/callwright/callwright/internal/rest"
	"github.com/callwright/callwright/internal/server"
)

// mountPages serves REST at its paths and people's pages at all others. What is neither is told so by REST to programs,
// by a page to browsers.
func (h *house) mountPages(s *server.Server, api http.Handler) {
	for _, path := range rest.Paths() {
		s.Mount(path, api)
	}
	s.Mount("/", portal.New(portal.Config{Conn: s.Conn(), PublicURL: h.serving.publicURL(), Next: api, Log: h.log}))
}
