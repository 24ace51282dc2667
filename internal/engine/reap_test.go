package engine_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/engine"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// dead is a process that claims calls and is never heard of again.
func (r *rig) dead(lease time.Duration) entID {
	r.t.Helper()
	id := r.place("+15005550006")
	got, err := call.Claim(store.System(r.t.Context()), r.db, r.workspace, "dead", lease)
	require.NoError(r.t, err)
	require.Equal(r.t, id, got.ID)
	return id
}

func TestCallsOfADeadProcessAreToldTruthfullyByWhoeverIsLeft(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		system := store.System(t.Context())
		dialing, talking := r.dead(time.Nanosecond), r.dead(time.Nanosecond)
		require.NoError(t, call.Answered(system, db, talking, store.Now()))
		require.NoError(t, call.AddTurns(system, db, r.workspace, talking, []call.Turn{
			{Seq: 0, Role: "agent", Content: "Hello?", Start: 0, End: time.Second},
		}))
		l := &line{tape: engine.NewTape(r.spool, talking, false)}
		l.tick(250)
		l.tape.Flush() // and no close
		require.FileExists(t, engine.SpoolPath(r.spool, talking))

		r.run(r.config(fast)) // two processes find them
		r.run(r.config(fast))
		got := r.ended(dialing)
		require.Equal(t, string(call.StatusFailed), got.Status)
		require.Equal(t, "worker_lost", *got.EndedReason)
		require.NotEmpty(t, *got.EndedMessage)
		require.Nil(t, got.Duration, "nobody answered")
		require.Nil(t, got.RecordingSize)

		got = r.ended(talking)
		require.Equal(t, string(call.StatusFailed), got.Status)
		require.Equal(t, "worker_lost", *got.EndedReason)
		require.Equal(t, 5, *got.Duration, "what was recorded was spoken")
		require.Len(t, r.turns(talking), 1)
		require.Len(t, r.wav(got).Channels[0], 250*audio.FrameSamples)
		r.until(talking, "leaves nothing behind", func(*entCall) bool {
			left, err := os.ReadDir(r.spool)
			return err == nil && len(left) == 0
		})
		require.Empty(t, r.dialed(), "nobody is dialed again")
	})
}

func TestACallWithALivingHolderIsLeftAlone(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		alive, orphan := r.dead(time.Hour), r.dead(time.Nanosecond)
		r.run(r.config(fast))
		r.ended(orphan)
		require.Equal(t, string(call.StatusDialing), r.get(alive).Status)
	})
}

func TestAHolderWhoseLeaseIsLostEndsTheCallAndWritesNothingMore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		c := r.config(1)
		c.Lease = time.Second
		e := r.run(c)
		id := r.place("+15005550006")
		r.status(id, call.StatusInProgress)
		require.NoError(t, call.Finish(store.System(t.Context()), db, id, call.Outcome{
			Status: call.StatusFailed, Reason: "worker_lost", Message: "Lost.", EndedAt: store.Now(),
		}))
		r.until(id, "is let go", func(*entCall) bool { return e.Held() == 0 })
		got := r.get(id)
		require.Equal(t, string(call.StatusFailed), got.Status)
		require.Equal(t, "worker_lost", *got.EndedReason)
		require.Equal(t, "Lost.", *got.EndedMessage)
		require.Nil(t, got.Latency)
	})
}

func TestALeaseIsKeptForAsLongAsTheCallLasts(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		c := r.config(5)
		c.Lease = 1500 * time.Millisecond // the call lasts for some of them
		r.run(c)
		id := r.place("+15005550006")
		r.status(id, call.StatusDialing)
		r.run(r.config(fast)) // would bury it
		got := r.ended(id)
		require.Equal(t, string(call.StatusCompleted), got.Status)
		require.NotEqual(t, "worker_lost", *got.EndedReason)
	})
}

// The process died between the end of the call and the way of its recording into the bucket, or another machine wrote
// the end.
func TestARecordingThatOutlivedItsCallIsKept(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 20, agent.Settings{})
		system := store.System(t.Context())
		id := r.dead(time.Hour)
		require.NoError(t, call.Answered(system, db, id, store.Now()))
		l := &line{tape: engine.NewTape(r.spool, id, false)}
		l.tick(100)
		l.tape.Flush()
		require.NoError(t, call.Finish(system, db, id, call.Outcome{
			Status: call.StatusFailed, Reason: "worker_lost", Message: "Lost.", EndedAt: store.Now(), Duration: ptr(2),
		}))
		gone := r.dead(time.Hour)
		require.NoError(t, call.Finish(system, db, gone, call.Outcome{Status: call.StatusFailed, Reason: "x", Message: "X.", EndedAt: store.Now()}))
		require.NoError(t, call.Delete(r.ctx, db, r.recordings, gone))
		require.NoError(t, os.WriteFile(engine.SpoolPath(r.spool, gone), []byte("of a deleted call"), 0o600))

		r.run(r.config(fast))
		got := r.until(id, "has its recording", func(c *entCall) bool { return c.RecordingSize != nil })
		require.Len(t, r.wav(got).Channels[1], 100*audio.FrameSamples)
		r.until(id, "leaves nothing behind", func(*entCall) bool {
			left, err := os.ReadDir(r.spool)
			return err == nil && len(left) == 0
		})
	})
}
