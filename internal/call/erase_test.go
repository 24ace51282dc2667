package call_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// The retention_period counts from the end of the call; the record stays and says when its content went, and why.
func TestContentGoesWhenItsTimeIsOverAndTheRecordStays(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.plan(10, "")
		rec, _ := recordings(t)
		talked := func(a *ent.Agent) *ent.Call {
			c := r.place(call.Request{AgentID: a.ID})
			require.Equal(t, c.ID, r.claim("me").ID)
			require.NoError(t, call.Answered(r.system, db, c.ID, store.Now()))
			require.NoError(t, call.AddTurns(r.system, db, r.workspace, c.ID, []call.Turn{{Role: call.RoleUser, Content: "Hi"}}))
			require.NoError(t, rec.Put(t.Context(), call.RecordingKey(c), strings.NewReader("RIFF")))
			r.finish(c.ID, call.Outcome{Status: call.StatusCompleted, Recording: &call.Recorded{Key: call.RecordingKey(c), Size: 4}})
			return c
		}
		ten, twenty := r.newAgent(agent.Settings{RetentionPeriod: ptr(10)}), r.newAgent(agent.Settings{RetentionPeriod: ptr(20)})
		calls := map[string]*ent.Call{
			"ten days": talked(ten), "twenty days": talked(twenty), "always": talked(r.newAgent(agent.Settings{})),
			"HIPAA agent": talked(r.newAgent(agent.Settings{IsHIPAACompliant: ptr(true)})),
		}
		var concluded []uuid.UUID
		erase := func(after time.Duration) {
			e := &call.Eraser{DB: db, Recordings: rec, Log: slog.New(slog.DiscardHandler),
				Now: func() time.Time { return store.Now().Add(after) },
				Others: []func(context.Context, *store.Tx, []uuid.UUID) error{func(_ context.Context, _ *store.Tx, ids []uuid.UUID) error {
					concluded = append(concluded, ids...)
					return nil
				}},
			}
			require.NoError(t, e.Work(t.Context(), nil))
		}
		there := func(want ...string) {
			t.Helper()
			for name, c := range calls {
				said, err := call.Said(r.ctx, db.Ent(), c.ID)
				require.NoError(t, err)
				_, err = rec.Attributes(t.Context(), call.RecordingKey(c))
				kept := false
				for _, w := range want {
					kept = kept || w == name
				}
				row := r.get(c.ID)
				require.Equal(t, kept, len(said) == 1, name)
				require.Equal(t, kept, err == nil, name)
				require.Equal(t, kept, row.ErasedAt == nil, name)
				require.Equal(t, kept, call.Fetchable(row), name)
				require.Equal(t, string(call.StatusCompleted), row.Status)
			}
		}
		const day = 24 * time.Hour
		erase(0)
		there("ten days", "twenty days", "always", "HIPAA agent")
		erase(2 * time.Hour)
		there("ten days", "twenty days", "always")
		require.Equal(t, "hipaa", *r.get(calls["HIPAA agent"].ID).ErasedFor)
		erase(10*day - time.Minute)
		there("ten days", "twenty days", "always")
		// The promise of an agent that is gone is kept.
		require.NoError(t, agent.Delete(r.ctx, db, ten.ID))
		erase(10*day + time.Minute)
		there("twenty days", "always")
		require.Equal(t, call.ErasedRetention, *r.get(calls["ten days"].ID).ErasedFor)
		// A shorter period counts for calls that have ended, too.
		_, err := agent.Update(r.ctx, db, twenty.ID, agent.Settings{RetentionPeriod: ptr(12)}, nil)
		require.NoError(t, err)
		erase(12*day + time.Minute)
		there("always")
		erase(1000 * day)
		there("always")
		require.Len(t, concluded, 3, "each once")
	})
}
