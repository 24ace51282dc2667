package sip

import (
	"context"
	"log/slog"
	"sync"

	"github.com/emiago/sipgo/sip"
)

// quiet is what the SIP stack logs to: its sentences without their attributes, in which whole messages stand, with
// numbers and names. Its errors are warnings here (a stranger can cause most), the rest is for debugging.
type quiet struct{ to slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.to.Enabled(ctx, toned(level))
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	return q.to.Handle(ctx, slog.NewRecord(r.Time, toned(r.Level), "sip stack: "+r.Message, r.PC))
}

func (q quiet) WithAttrs([]slog.Attr) slog.Handler { return q }
func (q quiet) WithGroup(string) slog.Handler      { return q }

func toned(level slog.Level) slog.Level {
	if level >= slog.LevelError {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// settleStack sets what the stack keeps in variables of its package, for all lines of the process. What it logs there is
// only of counting references.
var settleStack = sync.OnceFunc(func() {
	sip.SetDefaultLogger(slog.New(slog.DiscardHandler))
	// The stack refuses datagrams above 1300 bytes. Trunks take them in fragments; not sending them ends calls.
	sip.UDPMTUSize = 16 << 10
})
