// Package rest shows the services of callwright.v1 as the REST interface of the specification. It is a client of them: it
// knows gen and fault and nothing else of ours.
package rest

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// Version is the API version that every answer carries. spec: Versioning.
const Version = "2025-03-02"

// Config says what REST stands on.
type Config struct {
	// Conn reaches the services.
	Conn grpc.ClientConnInterface
	// PublicURL is the address that clients know this service by, with no slash at its end. Defaults to http:// and the
	// request's Host.
	PublicURL string
	// RateLimit is how many requests a caller may make in any 60 s. 0 is no limit.
	RateLimit int
	// Caller names who a bearer token belongs to: whoever has the same name shares one limit. An error is a token that
	// nobody has; its requests count against the client's address. Defaults to taking each token as its own caller, which
	// is for tests only: made-up tokens would evade the limit.
	Caller func(ctx context.Context, token string) (string, error)
	// Log gets what no service could log. Defaults to slog.Default().
	Log *slog.Logger
}

// New builds the handler of everything under /v1 and its aliases.
func New(c Config) http.Handler {
	mux := runtime.NewServeMux()
	ctx := context.Background()
	_ = callwrightv1.RegisterCallServiceHandlerClient(ctx, mux, callwrightv1.NewCallServiceClient(c.Conn))
	_ = callwrightv1.RegisterAgentServiceHandlerClient(ctx, mux, callwrightv1.NewAgentServiceClient(c.Conn))
	_ = callwrightv1.RegisterPhoneNumberServiceHandlerClient(ctx, mux, callwrightv1.NewPhoneNumberServiceClient(c.Conn))
	return mux
}
