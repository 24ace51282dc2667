package webhook_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
	"github.com/callwright/callwright/internal/webhook"
)

// A receiver may repeat what it got: its answers go with the content of the call, and are shown to nobody where that is
// withheld. That the call was delivered, and when, stays.
func TestAnswersOfReceiversDoNotOutliveTheContent(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.action(t, "CRM", nil)
		old, other := h.call(t, nil), h.call(t, nil)
		answers := func(of *ent.Call) (texts []string) {
			for _, d := range h.deliveries(t) {
				all, err := webhook.Attempts(d)
				require.NoError(t, err)
				if d.CallID == of.ID {
					require.Equal(t, webhook.Delivered, d.Status)
					require.Equal(t, 200, all[0].HTTPStatus)
					texts = append(texts, all[0].Response)
				}
			}
			return texts
		}
		for h.work(t) > 0 {
		}
		require.NotEmpty(t, answers(old)[0])
		for range 2 { // the job may run twice
			require.NoError(t, db.InTx(h.ctx, func(ctx context.Context, tx *store.Tx) error {
				return webhook.Erase(ctx, tx, []uuid.UUID{old.ID})
			}))
		}
		require.Equal(t, []string{""}, answers(old))
		require.NotEmpty(t, answers(other)[0])

		withheld, err := webhook.Withheld(h.ctx, db.Ent(), h.deliveries(t)...)
		require.NoError(t, err)
		require.Empty(t, withheld)
		yes := true
		_, err = agent.Update(h.ctx, db, h.agent.ID, agent.Settings{IsHIPAACompliant: &yes}, nil)
		require.NoError(t, err)
		withheld, err = webhook.Withheld(h.ctx, db.Ent(), h.deliveries(t)...)
		require.NoError(t, err)
		require.Equal(t, map[uuid.UUID]bool{old.ID: true, other.ID: true}, withheld)
	})
}

// The content may go while a post is on its way; what comes back is not kept then.
func TestAnAnswerThatComesAfterTheErasureIsNotKept(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.action(t, "CRM", nil)
		row := h.call(t, nil)
		require.NoError(t, db.InTx(h.ctx, func(ctx context.Context, tx *store.Tx) error {
			return call.Erase(ctx, tx, row, call.ErasedRetention)
		}))
		require.Equal(t, 1, h.work(t))
		all, err := webhook.Attempts(h.deliveries(t)[0])
		require.NoError(t, err)
		require.Equal(t, 200, all[0].HTTPStatus)
		require.Empty(t, all[0].Response)
	})
}
