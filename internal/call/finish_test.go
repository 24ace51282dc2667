package call_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestAnEndIsWrittenWithEverythingKnown(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.standing(call.StatusInProgress)
		ended := store.Now()
		retry := ended.Add(time.Hour)
		r.finish(c.ID, call.Outcome{
			Status: call.StatusCompleted, Reason: "customer_hangup", Message: "The customer\x00 hung up.\xff", AnsweredBy: "human",
			EndedAt: ended, Duration: ptr(42), RetryAfter: &retry, Latency: &call.Latency{GreetingMS: ptr(120)},
			Recording: &call.Recorded{Key: "k", Size: 44},
		})
		got := r.get(c.ID)
		require.Equal(t, "completed", got.Status)
		require.Equal(t, "customer_hangup", *got.EndedReason)
		require.Equal(t, "The customer hung up.\uFFFD", *got.EndedMessage)
		require.Equal(t, "human", *got.AnsweredBy)
		require.Equal(t, ended, *got.EndedAt)
		require.Equal(t, 42, *got.Duration)
		require.Equal(t, retry, *got.RetryAfter)
		require.JSONEq(t, `{"greeting_ms":120}`, string(got.Latency))
		require.Equal(t, "k", *got.RecordingKey)
		require.EqualValues(t, 44, *got.RecordingSize)
		require.False(t, got.InFlight)
		require.Nil(t, got.LeaseUntil)
		require.True(t, call.Fetchable(got))
	})
}

func TestTheDurationIsFromTheAnswerToTheEnd(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.standing(call.StatusInProgress)
		r.finish(c.ID, call.Outcome{Status: call.StatusFailed, EndedAt: c.AnsweredAt.Add(7600 * time.Millisecond)})
		require.Equal(t, 8, *r.get(c.ID).Duration)
		never := r.standing(call.StatusDialing)
		r.finish(never.ID, call.Outcome{Status: call.StatusNoAnswer, AnsweredBy: "nonsense"})
		require.Nil(t, r.get(never.ID).Duration)
		require.Nil(t, r.get(never.ID).AnsweredBy)
		require.NotNil(t, r.get(never.ID).EndedAt)
	})
}

func TestTheFirstEndingStays(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.standing(call.StatusDialing)
		r.finish(c.ID, call.Outcome{Status: call.StatusNoAnswer, Reason: "no_answer"})
		before := r.get(c.ID)
		for _, s := range []call.Status{call.StatusFailed, call.StatusNoAnswer, call.StatusCanceled} {
			require.ErrorIs(t, call.Finish(r.system, db, c.ID, call.Outcome{Status: s, Reason: "worker_lost"}), call.ErrEnded)
		}
		require.Equal(t, before.String(), r.get(c.ID).String())
	})
}

func TestFinishKeepsToTheTable(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		for _, from := range statuses {
			for _, to := range statuses {
				c := r.standing(from)
				err := call.Finish(r.system, db, c.ID, call.Outcome{Status: to})
				switch allowed := to.Terminal() && !from.Terminal() && call.CanMove(from, to); {
				case allowed:
					require.NoError(t, err, "%s → %s", from, to)
					require.Equal(t, string(to), r.get(c.ID).Status)
				default:
					require.Error(t, err, "%s → %s", from, to)
					require.Equal(t, string(from), r.get(c.ID).Status)
				}
			}
		}
		requireCode(t, call.Finish(r.system, db, store.NewID(), call.Outcome{Status: call.StatusFailed}), "call_not_found")
	})
}

func TestAnAnswerIsWrittenOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.standing(call.StatusDialing)
		at := store.Now()
		require.NoError(t, call.Answered(r.system, db, c.ID, at))
		require.NoError(t, call.Answered(r.system, db, c.ID, at.Add(time.Second)), "a repetition changes nothing")
		got := r.get(c.ID)
		require.Equal(t, "in-progress", got.Status)
		require.Equal(t, at, *got.AnsweredAt)
		requireCode(t, call.Answered(r.system, db, store.NewID(), at), "call_not_found")
		require.ErrorIs(t, call.Answered(r.system, db, r.standing(call.StatusQueued).ID, at), call.ErrEnded)
	})
}

func TestALateAnswerBringsACallBackWithinThirtySeconds(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		for _, end := range []call.Status{"no-answer", "failed", "busy", "canceled"} {
			for late, within := range map[time.Duration]bool{0: true, 30 * time.Second: true, 30*time.Second + time.Microsecond: false} {
				c := r.standing(call.StatusDialing)
				ended := store.Now()
				r.finish(c.ID, call.Outcome{Status: end, Reason: "x", Message: "y", EndedAt: ended})
				err := call.Answered(r.system, db, c.ID, ended.Add(late))
				got := r.get(c.ID)
				if !within || end == "busy" || end == "canceled" {
					require.ErrorIs(t, err, call.ErrEnded, "%s %s", end, late)
					require.Equal(t, string(end), got.Status)
					continue
				}
				require.NoError(t, err, "%s %s", end, late)
				require.Equal(t, "in-progress", got.Status)
				require.Nil(t, got.EndedAt)
				require.Nil(t, got.EndedReason)
				require.Nil(t, got.EndedMessage)
				require.True(t, got.InFlight, "it has its slot back")
				require.Equal(t, "me", got.LeaseOwner)
				_, lost, err := call.Renew(r.system, db, "me", ids(c), time.Minute)
				require.NoError(t, err)
				require.Empty(t, lost)
				r.finish(c.ID, call.Outcome{Status: call.StatusCompleted})
			}
		}
	})
}

func TestTheLegIsKeptWhileTheCallIsInFlight(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.standing(call.StatusInProgress)
		require.NoError(t, call.SaveLeg(r.system, db, c.ID, json.RawMessage(`{"dialog":"d"}`)))
		require.JSONEq(t, `{"dialog":"d"}`, string(r.get(c.ID).Leg))
		r.finish(c.ID, call.Outcome{Status: call.StatusCompleted})
		require.ErrorIs(t, call.SaveLeg(r.system, db, c.ID, json.RawMessage(`{}`)), call.ErrEnded)
		requireCode(t, call.SaveLeg(r.system, db, store.NewID(), json.RawMessage(`{}`)), "call_not_found")
	})
}

func TestTurnsAreKeptInOrderAndCanBeRepeated(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.standing(call.StatusInProgress)
		add := func(turns ...call.Turn) error { return call.AddTurns(r.system, db, r.workspace, c.ID, turns) }
		require.NoError(t, add())
		second := call.Turn{Seq: 1, Role: call.RoleUser, Content: "Yes,\n please\x00.", Start: 900 * time.Millisecond, End: 1500 * time.Millisecond}
		require.NoError(t, add(second, call.Turn{Seq: 0, Role: call.RoleAgent, Content: "Hello there"}))
		require.NoError(t, add(second, second, call.Turn{Seq: 2, Role: call.RoleFunctionCall, Content: "{}"}))
		require.NoError(t, add(call.Turn{Seq: 0, Role: call.RoleAgent, Content: "Hello", Interrupted: true}))

		turns, err := call.Turns(r.ctx, db.Ent(), c.ID)
		require.NoError(t, err)
		require.Len(t, turns, 3)
		require.Equal(t, "agent: Hello\nuser: Yes, please.", call.Transcript(turns))
		require.True(t, turns[0].Interrupted)
		require.Equal(t, 900, turns[1].StartMs)
		require.Equal(t, 1500, turns[1].EndMs)

		other := newRig(t, db)
		_, err = call.Turns(other.ctx, db.Ent(), c.ID)
		requireCode(t, err, "call_not_found")
		requireCode(t, call.AddTurns(r.system, db, other.workspace, c.ID, []call.Turn{second}), "call_not_found")

		r.finish(c.ID, call.Outcome{Status: call.StatusCompleted})
		require.ErrorIs(t, add(call.Turn{Seq: 3, Role: call.RoleUser}), call.ErrEnded)
		turns, err = call.Turns(r.ctx, db.Ent(), c.ID)
		require.NoError(t, err)
		require.Len(t, turns, 3, "what was said stays")
	})
}

func TestATranscriptWithoutSpeechIsEmpty(t *testing.T) {
	require.Empty(t, call.Transcript(nil))
	require.Empty(t, call.Transcript([]*ent.Turn{{Role: call.RoleFunctionResult, Content: "x"}}))
}

func TestAWorkspaceUnderHIPAAShowsNoTurns(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		c := r.standing(call.StatusInProgress)
		require.NoError(t, call.AddTurns(r.system, db, r.workspace, c.ID, []call.Turn{{Role: call.RoleUser, Content: "my diagnosis"}}))
		require.NoError(t, db.Ent().Workspace.UpdateOneID(r.workspace).SetHipaa(true).Exec(r.system))
		turns, err := call.Turns(r.ctx, db.Ent(), c.ID)
		require.NoError(t, err)
		require.Empty(t, turns)
		turns, err = call.Said(r.ctx, db.Ent(), c.ID)
		require.NoError(t, err)
		require.Len(t, turns, 1, "what concludes the call may read it")
		why, err := call.Redaction(r.ctx, db.Ent(), c)
		require.NoError(t, err)
		require.Equal(t, "hipaa", why)
	})
}
