package mcp

import (
	"net/http"

	"github.com/mark3labs/mcp-go/server"
)

// NewWith is New with tools of a test beside ours, behind the same guard.
func NewWith(c Config, add func(*server.MCPServer)) http.Handler {
	s := newTools(c)
	add(s)
	return guard{c, newProtocol(s)}
}
