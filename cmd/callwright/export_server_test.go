package main

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/server"
	"github.com/callwright/callwright/internal/store"
)

// Parts are what the program's server stands on, for tests that serve a database of theirs.
type Parts struct {
	DB         *store.DB
	Key        secret.Key
	Identity   *identity.Identity
	Recordings *call.Recordings
	Egress     *egress.Client
	Log        *slog.Logger
	// PublicURL is the address that answers name. Defaults to that of the request.
	PublicURL string
	// RateLimit is how many requests a caller may make in any 60 s; 0 is no limit.
	RateLimit int
}

// NewServer is the program's server on free ports; no call engine runs. wrap, if there is
// one, gives the registrar that the services are added to.
func NewServer(p Parts, wrap func(grpc.ServiceRegistrar) grpc.ServiceRegistrar) *server.Server {
	h := &house{
		ground:     &ground{log: p.Log, key: p.Key, db: p.DB, identity: p.Identity},
		serving:    serving{HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", PublicURL: p.PublicURL, RateLimit: p.RateLimit},
		metrics:    prometheus.NewRegistry(),
		recordings: p.Recordings,
		egress:     p.Egress,
	}
	return h.newServer(func(r grpc.ServiceRegistrar) {
		if wrap != nil {
			r = wrap(r)
		}
		h.register(r)
	})
}
