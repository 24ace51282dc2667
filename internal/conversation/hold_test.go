package conversation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
)

// holding is a line that is put on hold from a time to another, with music that has words.
type holding struct {
	carrier.Leg
	from, to time.Duration
	events   chan carrier.Event
}

func onHold(from, to time.Duration) func(carrier.Leg) carrier.Leg {
	return func(l carrier.Leg) carrier.Leg {
		h := &holding{l, from, to, make(chan carrier.Event, 256)}
		go func() {
			defer close(h.events)
			for e := range l.Events() {
				h.events <- e
			}
		}()
		return h
	}
}

func (h *holding) Events() <-chan carrier.Event { return h.events }
func (h *holding) Media() carrier.Media         { return holdingMedia{h.Leg.Media(), h} }

type holdingMedia struct {
	carrier.Media
	line *holding
}

func (m holdingMedia) ReadFrame(f *carrier.Frame) error {
	err := m.Media.ReadFrame(f)
	switch {
	case err != nil:
	case f.At == m.line.from:
		m.line.events <- carrier.Event{Kind: carrier.EventHold, At: f.At}
	case f.At == m.line.to:
		m.line.events <- carrier.Event{Kind: carrier.EventResume, At: f.At}
	}
	return err
}

func TestMusicOnHoldIsNotListenedTo(t *testing.T) {
	callee := says(
		sandbox.Step{Wait: 12 * time.Second, Say: "Please stay on the line, you are important to us."},
		sandbox.Step{Wait: 10 * time.Second, Say: "So here I am again."},
	)
	o := call{callee: callee, script: juniper}.hold(t)
	require.Contains(t, strings.Join(o.transcript, "\n"), "important", "without hold")
	o = call{callee: callee, script: juniper, line: onHold(11*time.Second, 20*time.Second)}.hold(t)
	o.wellFormed(t)
	require.NotContains(t, strings.Join(o.transcript, "\n"), "important")
	require.Contains(t, strings.Join(o.transcript, "\n"), "user: So here I am again.")
}
