package call_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// Whoever follows a call reads the records only, so this is also how it is over several processes: the ones that write
// here are not known to Follow.
func TestACallIsFollowedToItsEnd(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.place(call.Request{})
		turn := func(seq int, role, content string) {
			require.NoError(t, call.AddTurns(r.system, db, r.workspace, c.ID, []call.Turn{{Seq: seq, Role: role, Content: content}}))
		}
		// Each thing that is told makes the next one happen.
		steps := map[string]func(){
			"queued": func() {
				require.NotNil(t, r.claim("me"))
			},
			"dialing": func() { require.NoError(t, call.Answered(r.system, db, c.ID, store.Now())) },
			"in-progress": func() {
				turn(0, "user", "Hello?")
				turn(1, "agent", "Good day.")
			},
			"agent: Good day.": func() {
				turn(2, "user", "Goodbye.")
				r.finish(c.ID, call.Outcome{Status: call.StatusCompleted, Reason: "customer_hangup"})
			},
		}
		var told []string
		require.NoError(t, call.Follow(r.ctx, db.Ent(), c.ID, 0, func(n call.News) error {
			what := ""
			if n.Call != nil {
				what = n.Call.Status
			} else {
				what = n.Turn.Role + ": " + n.Turn.Content
			}
			told = append(told, what)
			if next := steps[what]; next != nil {
				next()
			}
			return nil
		}))
		require.Equal(t, []string{"queued", "dialing", "in-progress", "user: Hello?", "agent: Good day.", "user: Goodbye.", "completed"}, told)

		t.Run("again from where somebody was cut off", func(t *testing.T) {
			var told []string
			require.NoError(t, call.Follow(r.ctx, db.Ent(), c.ID, 2, func(n call.News) error {
				if n.Turn != nil {
					told = append(told, n.Turn.Content)
				}
				return nil
			}))
			require.Equal(t, []string{"Goodbye."}, told)
		})
	})
}

func TestWhatFollowingDoesNotTell(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		follow := func(ctx context.Context, id uuid.UUID) (turns int, err error) {
			err = call.Follow(ctx, db.Ent(), id, 0, func(n call.News) error {
				if n.Turn != nil {
					turns++
				}
				return nil
			})
			return turns, err
		}
		t.Run("calls of others", func(t *testing.T) {
			c := r.standing(call.StatusInProgress)
			other, _ := storetest.Workspace(t, db)
			_, err := follow(other, c.ID)
			requireCode(t, err, "call_not_found")
		})
		t.Run("what is said under HIPAA", func(t *testing.T) {
			r.agent = r.newAgent(agent.Settings{IsHIPAACompliant: ptr(true)}).ID
			c := r.standing(call.StatusInProgress)
			require.NoError(t, call.AddTurns(r.system, db, r.workspace, c.ID, []call.Turn{{Role: "user", Content: "Hello?"}}))
			r.finish(c.ID, call.Outcome{Status: call.StatusCompleted})
			turns, err := follow(r.ctx, c.ID)
			require.NoError(t, err)
			require.Zero(t, turns)
		})
		t.Run("anything to who has gone", func(t *testing.T) {
			c := r.standing(call.StatusInProgress)
			ctx, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond)
			defer cancel()
			_, err := follow(ctx, c.ID)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			gone := errors.New("gone")
			require.ErrorIs(t, call.Follow(r.ctx, db.Ent(), c.ID, 0, func(call.News) error { return gone }), gone)
		})
	})
}

func TestWhatIsKeptOfTurnsAndConsent(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.standing(call.StatusInProgress)
		require.NoError(t, call.AddTurns(r.system, db, r.workspace, c.ID, []call.Turn{
			{Seq: 0, Role: "agent", Content: "Good day.", Timing: &call.TurnTiming{FirstTokenMS: ptr(120), VoiceToVoiceMS: ptr(540)}},
			{Seq: 1, Role: "user", Content: "Hello?"},
		}))
		turns, err := call.Turns(r.ctx, db.Ent(), c.ID)
		require.NoError(t, err)
		require.JSONEq(t, `{"first_token_ms":120,"voice_to_voice_ms":540}`, string(turns[0].Timing))
		require.Empty(t, turns[1].Timing)
		require.NoError(t, call.SaveConsent(r.system, db, c.ID, "given"))
		require.Equal(t, "given", *r.get(c.ID).RecordingConsent)
		r.finish(c.ID, call.Outcome{Status: call.StatusCompleted, AnsweredBy: "human", AnsweredByReason: "a short answer"})
		got := r.get(c.ID)
		require.Equal(t, "given", *got.RecordingConsent, "it stays")
		require.Equal(t, "a short answer", *got.AnsweredByReason)
		require.ErrorIs(t, call.SaveConsent(r.system, db, c.ID, "refused"), call.ErrEnded)
	})
}
