package main

import (
	"context"

	"google.golang.org/grpc"

	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/rest"
	"github.com/callwright/callwright/internal/server"
	"github.com/callwright/callwright/internal/store"
)

type serveCommand struct {
	serving
	storage
}

func (serveCommand) Help() string {
	return "Migrates the database when needed, seeds nothing, and runs until SIGINT or SIGTERM. Then it takes no new calls " +
		"and ends when those in progress have ended. Make the first key with callwright workspace create.\n\n" +
		"Example:\n" +
		"  CALLWRIGHT_DATABASE_URL=postgres://callwright@db/callwright callwright serve --http-addr 0.0.0.0:8080 --public-url https://calls.example.com"
}

func (c *serveCommand) Run(ctx context.Context, t *terminal) error {
	return serve(ctx, t, c.serving, c.storage, func(_ context.Context, h *house) error { return h.announce(t) })
}

// house is the program put together.
type house struct {
	*ground
	serving serving
	storage storage
	server  *server.Server
}

// serve is the composition root: it builds each part from those before it, tells ready, runs all of them until a signal,
// and stops them in the order of the stages.
func serve(ctx context.Context, t *terminal, to serving, at storage, ready func(context.Context, *house) error) error {
	if err := to.validate(); err != nil {
		return err
	}
	g, err := at.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	drain, now, release := signals(ctx, g.log)
	defer release()

	h := &house{ground: g, serving: to, storage: at}
	h.server = server.New(server.Config{
		Register:     func(r grpc.ServiceRegistrar) {},
		Authenticate: h.authenticate,
		Ready:        g.db.Ping,
		HTTPAddr:     to.HTTPAddr,
		GRPCAddr:     to.GRPCAddr,
		MetricsAddr:  to.MetricsAddr,
		Reflection:   to.GRPCReflection,
		Log:          g.log,
	})
	h.server.Mount("/", rest.New(rest.Config{
		Conn: h.server.Conn(), PublicURL: to.publicURL(), RateLimit: to.RateLimit, Caller: h.server.Caller, Log: g.log,
	}))

	if err := h.server.Listen(); err != nil { // before anything is written for a program that can not start
		return err
	}
	if err := ready(ctx, h); err != nil {
		return err
	}
	context.AfterFunc(now, h.server.Close)
	return runStages(drain,
		[]part{{"server", h.server.Run}},
		[]part{{"identity", g.identity.Run}},
	)
}

// authenticate joins identity and server: what a token resolves to goes into the context of the request.
func (h *house) authenticate(ctx context.Context, token string) (context.Context, server.Caller, error) {
	p, err := h.identity.Authenticate(ctx, token)
	if err != nil {
		return nil, server.Caller{}, err
	}
	caller := server.Caller{WorkspaceID: p.WorkspaceID.String(), IsUser: p.UserID != nil, Allows: p.Allows}
	if p.KeyID != nil {
		caller.KeyID = p.KeyID.String()
	}
	if p.UserID != nil {
		caller.UserID = p.UserID.String()
	}
	return store.WithWorkspace(identity.WithPrincipal(ctx, p), p.WorkspaceID), caller, nil
}
