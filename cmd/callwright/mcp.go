package main

import (
	"context"
	"time"

	"github.com/callwright/callwright/internal/mcp"
	"github.com/callwright/callwright/internal/server"
)

// mountTools serves the tool server for assistants.
func (h *house) mountTools(s *server.Server) {
	c := mcp.Config{
		Conn: s.Conn(), Authenticate: s.Caller, PublicURL: h.serving.publicURL(), Version: programVersion(), Log: h.log,
	}
	if n := h.serving.MCPRateLimit; n > 0 {
		log := h.throttle("mcp", n)
		c.Admit = func(ctx context.Context, caller string) (time.Duration, bool) {
			v := log.Take(ctx, caller)
			return v.Reset, v.OK
		}
	}
	s.Mount("/mcp", mcp.New(c))
	s.Mount("/llms.txt", mcp.LLMs(h.serving.publicURL()))
}
