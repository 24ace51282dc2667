package engine_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestAnInboundCallReachesTheAgentOfItsNumber(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 1, agent.Settings{WelcomeMsg: ptr("Nora's office, good day."), RingDuration: ptr(2)})
		_, err := agent.CreateNumber(r.ctx, db, agent.Number{Number: ptr("+15005559000"), AgentID: &r.agent})
		require.NoError(t, err)
		e := r.run(r.config(fast))
		// The plan has room for one call and that is taken: inbound calls are not refused for it (spec: Plan usage).
		r.place("+15005550006")
		require.NoError(t, e.ring(t, "+15551234567", "+15005559000"))
		page, err := call.List(r.ctx, db.Ent(), call.Query{Where: `{"direction":"inbound"}`})
		require.NoError(t, err)
		require.Len(t, page.Calls, 1)
		got := r.ended(page.Calls[0].ID)
		require.Equal(t, string(call.StatusCompleted), got.Status)
		require.Equal(t, "+15551234567", got.FromNumber)
		require.Equal(t, "+15005559000", got.ToNumber)
		require.Equal(t, r.agent, *got.AgentID)
		require.Equal(t, "human", *got.AnsweredBy)
		turns := r.turns(got.ID)
		require.NotEmpty(t, turns)
		require.Contains(t, turns[0].Content, "Nora's office")
		require.NotZero(t, len(r.wav(got).Channels[0]))
	})
}

func TestAnInboundCallToAnUnknownNumberIsRefusedWithoutARecord(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 5, agent.Settings{})
		e := r.run(r.config(fast))
		ended := carrier.EndedOf(e.ring(t, "+15551234567", "+15005559111"))
		require.Equal(t, carrier.ReasonDeclined, ended.Reason)
		page, err := call.List(r.ctx, db.Ent(), call.Query{})
		require.NoError(t, err)
		require.Empty(t, page.Calls)
	})
}

func TestACallerWhoGivesUpWhileItRingsIsToldOf(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 5, agent.Settings{RingDuration: ptr(120)})
		_, err := agent.CreateNumber(r.ctx, db, agent.Number{Number: ptr("+15005559000"), AgentID: &r.agent})
		require.NoError(t, err)
		e := r.run(r.config(1))
		ctx, hangUp := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() { _ = e.ringAs(ctx, "+15551234567", "+15005559000") })
		var page call.Page
		require.Eventually(t, func() bool {
			page, err = call.List(r.ctx, db.Ent(), call.Query{})
			return err == nil && len(page.Calls) == 1
		}, soon, 5*time.Millisecond)
		require.Equal(t, string(call.StatusDialing), page.Calls[0].Status)
		hangUp()
		done.Wait()
		got := r.ended(page.Calls[0].ID)
		require.Equal(t, string(call.StatusNoAnswer), got.Status)
		require.Equal(t, "no_answer", *got.EndedReason)
		require.Zero(t, e.Held())
	})
}

// ring lets somebody call a number of ours.
func (u *running) ring(t *testing.T, from, to string) error { return u.ringAs(t.Context(), from, to) }

func (u *running) ringAs(ctx context.Context, from, to string) error {
	for {
		err := u.line.(*sandbox.Carrier).Ring(ctx, from, to)
		if err == nil || ctx.Err() != nil || carrier.EndedOf(err).Reason != carrier.ReasonCarrierError {
			return err
		}
		runtime.Gosched() // the engine does not listen yet
	}
}
