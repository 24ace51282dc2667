package main_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	main "github.com/callwright/callwright/cmd/callwright"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
)

// house is the whole program but for the call engine, listening on this machine: what calls do, the cases do by hand
// (tenant.do).
type house struct {
	db         *store.DB
	identity   *identity.Identity
	recordings *call.Recordings
	sounds     string          // the folder of the recordings
	services   map[string]bool // that are registered
	log        lines
	url        string // http://127.0.0.1:…
	client     *http.Client
	conn       *grpc.ClientConn
}

func open(t *testing.T, db *store.DB) *house { return openWith(t, db, nil) }

// openAt is open for a house that the world knows by an address.
func openAt(t *testing.T, db *store.DB, public string) *house {
	t.Helper()
	return openParts(t, db, nil, func(_ *identity.Config, p *main.Parts) { p.PublicURL = public })
}

// openWith wraps the registrar that the services are added to, if wrap is given; change sets what identity may do.
func openWith(t *testing.T, db *store.DB, wrap func(grpc.ServiceRegistrar) grpc.ServiceRegistrar,
	change ...func(*identity.Config)) *house {
	t.Helper()
	return openParts(t, db, wrap, func(c *identity.Config, _ *main.Parts) {
		for _, f := range change {
			f(c)
		}
	})
}

func openParts(t *testing.T, db *store.DB, wrap func(grpc.ServiceRegistrar) grpc.ServiceRegistrar,
	change func(*identity.Config, *main.Parts)) *house {
	t.Helper()
	key := secret.NewKey()
	h := &house{db: db, sounds: t.TempDir(), services: map[string]bool{}}
	h.client = newDescribed(t, func() string { return h.url })
	log := slog.New(slog.NewJSONHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c := identity.Config{DB: db, Key: key, Log: log}
	parts := main.Parts{DB: db, Key: key, Log: log}
	change(&c, &parts)
	h.identity = identity.New(c)
	var err error
	h.recordings, err = call.OpenRecordings(t.Context(), "file://"+h.sounds)
	require.NoError(t, err)
	out := egress.New(egress.Config{})
	parts.Identity, parts.Recordings, parts.Egress = h.identity, h.recordings, out
	s := main.NewServer(parts, func(r grpc.ServiceRegistrar) grpc.ServiceRegistrar {
		r = noted{r, h.services}
		if wrap != nil {
			r = wrap(r)
		}
		return r
	})
	require.NoError(t, s.Listen())
	h.url = "http://" + s.HTTPAddr.String()
	h.conn, err = grpc.NewClient(s.GRPCAddr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)

	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		h.client.CloseIdleConnections()
		require.NoError(t, h.conn.Close())
		stop()
		require.NoError(t, <-done)
		require.NoError(t, h.recordings.Close())
		out.Close()
	})
	return h
}

// noted keeps the names of the services that are registered.
type noted struct {
	grpc.ServiceRegistrar
	names map[string]bool
}

func (n noted) RegisterService(d *grpc.ServiceDesc, service any) {
	n.names[d.ServiceName] = true
	n.ServiceRegistrar.RegisterService(d, service)
}

// lines is what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
