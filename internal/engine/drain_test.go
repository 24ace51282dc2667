package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestAStopLetsCallsInProgressEndAndBeginsNone(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		c := r.config(10)
		c.DrainTimeout = time.Hour
		e := r.run(c)
		talking := r.place("+15005550006")
		r.status(talking, call.StatusInProgress)
		e.stop()
		r.until(talking, "the engine takes nothing new", func(*entCall) bool { return e.Full() })
		late := r.place("+15005550006")
		<-e.done
		got := r.get(talking)
		require.Equal(t, string(call.StatusCompleted), got.Status)
		require.NotEqual(t, "service_shutdown", *got.EndedReason)
		require.Equal(t, string(call.StatusQueued), r.get(late).Status, "it waits for the next process")
		require.Len(t, r.dialed(), 1)

		r.run(r.config(fast))
		require.Equal(t, string(call.StatusCompleted), r.ended(late).Status)
	})
}

func TestCallsThatOutlastTheDrainAreEndedAndToldOf(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*running){
		"after the drain time": func(e *running) { e.stop() },
		"by a second signal":   func(e *running) { e.stop(); e.HangUp() },
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, db *store.DB) {
				r := newRig(t, db, 20, agent.Settings{})
				c := r.config(3)
				c.DrainTimeout = -1
				if name == "by a second signal" {
					c.DrainTimeout = time.Hour
				}
				e := r.run(c)
				talking, ringing := r.place("+15005550006"), r.place("+15005550001")
				r.status(ringing, call.StatusDialing)
				r.until(talking, "has said something", func(*entCall) bool { return len(r.turns(talking)) > 0 })
				stop(e)
				<-e.done
				for _, id := range []entID{talking, ringing} {
					got := r.get(id)
					require.Equal(t, string(call.StatusFailed), got.Status)
					require.Equal(t, "service_shutdown", *got.EndedReason)
					require.NotEmpty(t, *got.EndedMessage)
				}
				r.wav(r.get(talking))
				r.requireNothingSpooled()
			})
		})
	}
}
