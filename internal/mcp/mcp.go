// Package mcp is the tool server for AI assistants: four read-only tools over Streamable HTTP, without sessions.
//
// It is an adapter. Every tool is one call of AssistantService over the connection inside the process, and the caller's
// credential goes along, so that scope, workspace and redaction are decided where they always are. What stands here is
// the shape of the tools (tool.go), their parameters (param.go), how answers look (encode.go) and the guard in front of
// the protocol library (guard.go), which knows neither credentials nor limits.
package mcp

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// Config says how the tool server is reached.
type Config struct {
	// Conn reaches the services.
	Conn grpc.ClientConnInterface
	// Authenticate checks a bearer token and names its caller; a fault says that it is refused.
	Authenticate func(ctx context.Context, token string) (caller string, err error)
	// Admit counts a request of a caller against its limit (CONTRACT.md §2: 60 a minute) and says how long to wait when
	// there is no room. Defaults to no limit.
	Admit func(ctx context.Context, caller string) (wait time.Duration, ok bool)
	// PublicURL is the address people use; its host is allowed in Host and Origin beside loopback ones.
	PublicURL string
	// Version of the program, told to clients.
	Version string
	// Log gets failures of the services. Defaults to slog.Default().
	Log *slog.Logger
}

// instructions is what a client may show its model before it uses the tools.
const instructions = `Callwright runs AI voice agents that place and answer phone calls. These tools read the agents and calls of one workspace; they change nothing.
Lists answer {data, pagination: {total, has_more}}; page on with offset and limit. Times are ISO 8601 in UTC; a date alone as to_date means the end of that day.
list_calls leaves transcripts out: read one with get_call. A call that was not answered has none.
content_redacted means that transcript and summary are withheld on purpose; asking again does not change it.
Test conversations are left out unless include_test is true. Recordings are never part of an answer.`

// New returns the handler to mount at /mcp.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return guard{c, newProtocol(newTools(c))}
}

// newTools is the protocol library's server with the four tools.
func newTools(c Config) *server.MCPServer {
	s := server.NewMCPServer("callwright", c.Version,
		server.WithToolCapabilities(false), server.WithInstructions(instructions))
	client := callwrightv1.NewAssistantServiceClient(c.Conn)
	for _, t := range tools(client) {
		s.AddTool(t.describe(), t.handle(c.Log))
	}
	return s
}

// newProtocol speaks Streamable HTTP for it.
func newProtocol(s *server.MCPServer) http.Handler {
	return server.NewStreamableHTTPServer(s,
		server.WithStateLess(true),
		server.WithDisableStreaming(true),
		// The guard checks Host and Origin itself: the library's check would refuse a proxy on the same machine.
		server.WithDisableLocalhostProtection(true),
		server.WithHTTPContextFunc(forwardCredential),
	)
}

// forwardCredential hands the caller's credential and address on to the services.
func forwardCredential(ctx context.Context, r *http.Request) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", r.Header.Get("Authorization"),
		"x-request-id", r.Header.Get("X-Request-Id"), "client-address", hostname(r.RemoteAddr))
}
