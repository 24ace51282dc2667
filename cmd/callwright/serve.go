package main

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"
	"google.golang.org/grpc"

	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/api"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/campaign"
	"github.com/callwright/callwright/internal/carrier/sip"
	"github.com/callwright/callwright/internal/conversation/scripted"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/engine"
	"github.com/callwright/callwright/internal/rest"
	"github.com/callwright/callwright/internal/server"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/webhook"
)

type serveCommand struct {
	serving
	storage
}

func (serveCommand) Help() string {
	return "Migrates the database when needed, seeds nothing, and runs until SIGINT or SIGTERM. Then it takes no new calls " +
		"and ends when those in progress have ended. Make the first key with callwright workspace create.\n\n" +
		"Example:\n" +
		"  callwright serve --http-addr 0.0.0.0:8080 --public-url https://calls.example.com --database-url postgres://callwright@db/callwright"
}

func (c *serveCommand) Run(ctx context.Context, t *terminal) error {
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Minute)
	return serve(ctx, t, c.serving, c.storage, func(ctx context.Context, h *house) error { return h.announce(ctx, t) })
}

// house is the program put together.
type house struct {
	*ground
	serving    serving
	storage    storage
	recordings *call.Recordings
	egress     *egress.Client
	engine     *engine.Engine
	sip        *sip.Carrier // nil without
	campaigns  *campaign.Runner
	server     *server.Server
	stopSpeech func()
	metrics    *prometheus.Registry
	// What follows a call.
	analyst *analysis.Worker
	courier *webhook.Courier
	builder *agentbuilder.Worker
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
	slog.SetDefault(g.log) // also for what libraries write to the standard log
	drain, now, release := signals(ctx, g.log)
	defer release()

	g.identity = g.newIdentity(to)
	h := &house{ground: g, serving: to, storage: at, metrics: prometheus.NewRegistry()}
	if h.recordings, err = call.OpenRecordings(ctx, filepath.Join(at.DataDir, "recordings")); err != nil {
		return err
	}
	defer h.recordings.Close()
	h.egress = egress.New(egress.Config{AllowPrivate: to.AllowPrivateNetworks, UserAgent: "Callwright/" + programVersion()})
	defer h.egress.Close()
	if h.engine, err = h.newEngine(ctx); err != nil {
		return err
	}
	defer h.stopSpeech()
	if err := h.openAfter(); err != nil {
		return err
	}
	h.campaigns = h.newCampaigns()
	h.server = h.newServer(h.register)
	if err := h.server.Listen(); err != nil { // before anything is written for a program that can not start
		return err
	}
	if err := ready(ctx, h); err != nil {
		return err
	}

	settled := time.AfterFunc(time.Second, forgetStart)
	defer settled.Stop()
	context.AfterFunc(now, func() { h.server.Close(); h.engine.HangUp() })
	return runStages(drain,
		// Requests end and calls end at the same time: the engine takes no new calls while the listeners finish.
		[]part{{"server", h.server.Run}, {"engine", h.engine.Run}, {"campaigns", h.campaigns.Run}},
		// The end of a call enqueues jobs; those that can not be done in time are durable.
		[]part{{"jobs", h.runJobs}, {"webhooks", h.courier.Run}, {"agent builds", h.builder.Run}, {"line", h.runLine}},
		[]part{{"identity", g.identity.Run}},
	)
}

// newEngine joins the telephone line and the speech that the settings ask for.
func (h *house) newEngine(ctx context.Context) (*engine.Engine, error) {
	voices := voice.New(voice.Config{Log: h.log})
	line, test, err := h.lines(ctx, voices)
	if err != nil {
		return nil, err
	}
	speech, stop, err := h.newSpeech(voices)
	if err != nil {
		return nil, err
	}
	h.stopSpeech = stop
	return engine.New(engine.Config{
		DB:           h.db,
		Carrier:      line,
		Sandbox:      test,
		Line:         h.line(),
		Speech:       speech,
		Fallback:     scripted.Voice{Studio: voices},
		Metrics:      engine.NewMetrics(h.metrics),
		Recordings:   h.recordings,
		SpoolDir:     filepath.Join(h.storage.DataDir, "spool"),
		DrainTimeout: h.serving.DrainTimeout,
		MaxCalls:     h.room(),
		Log:          h.log,
	})
}

// register gives the services what they stand on.
func (h *house) register(r grpc.ServiceRegistrar) {
	api.Register(r, api.Config{
		DB:         h.db,
		Identity:   h.identity,
		Recordings: h.recordings,
		Line:       h.line(),
		Actions:    h.actions(),
		Builds:     h.builds(),
	})
}

// newServer serves the services that register adds, and mounts what is served over HTTP.
func (h *house) newServer(register func(grpc.ServiceRegistrar)) *server.Server {
	trusted, _ := h.serving.trustedProxies() // validate has seen them
	s := server.New(server.Config{
		Register:       register,
		Authenticate:   h.authenticate,
		Ready:          h.db.Ping,
		HTTPAddr:       h.serving.HTTPAddr,
		GRPCAddr:       h.serving.GRPCAddr,
		MetricsAddr:    h.serving.MetricsAddr,
		Metrics:        h.metrics,
		Reflection:     h.serving.GRPCReflection,
		TrustedProxies: trusted,
		Log:            h.log,
	})
	h.mountPages(s, rest.New(rest.Config{
		Conn:      s.Conn(),
		PublicURL: h.serving.publicURL(),
		Origins:   h.serving.CORSOrigin,
		RateLimit: h.serving.RateLimit,
		Throttle:  h.throttle("rest", h.serving.RateLimit),
		Caller:    s.Caller,
		Metrics:   h.metrics,
		Log:       h.log,
	}))
	h.mountTools(s)
	return s
}

// runJobs works all queues: every worker is registered in every process.
func (h *house) runJobs(ctx context.Context) error {
	workers := river.NewWorkers()
	h.engine.Workers(workers)
	river.AddWorker(workers, h.analyst)
	river.AddWorker(workers, h.builder)
	river.AddWorker(workers, h.eraser())
	return h.db.RunJobs(ctx, store.JobsConfig{
		Workers: workers, Periodic: periodic(), Log: h.log,
		Queues: map[string]int{call.QueueVoice: 8, call.QueueAfter: 16, agentbuilder.Queue: 4},
	})
}
