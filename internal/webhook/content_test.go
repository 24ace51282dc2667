package webhook_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
	"github.com/callwright/callwright/internal/webhook"
)

// Content that no record holds is posted to the action that asks for it, over retries, and is gone afterwards.
func TestWithheldContentReachesOnlyTheActionThatAsksForItAndIsWipedThen(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		for name, last := range map[string]int{webhook.Delivered: 200, webhook.Abandoned: 500} {
			h := build(t, db)
			h.answers = []int{500, 500, 500, 500, 500, 500, 500, 500, last}
			h.action(t, "plain", nil)
			phi, err := h.actions.Create(h.ctx, h.agent.ID, agent.Action{
				Type: agent.ActionWebhook, Name: new("clinic"), URL: &h.url, IncludePHI: new(true),
			})
			require.NoError(t, err)
			db.Ent().Workspace.Update().SetHipaa(true).ExecX(store.System(t.Context()))
			row, err := db.Ent().Call.Create().SetDirection("outbound").SetStatus("completed").SetToNumber("+15551234567").
				SetFromNumber("+15005550000").SetAgentID(h.agent.ID).Save(h.ctx)
			require.NoError(t, err)
			withheld := &analysis.Content{
				Turns:   []*ent.Turn{{Role: "user", Content: "CANARY spoken", EndMs: 5}},
				Summary: new("CANARY summary"), Extracted: json.RawMessage(`[{"value":"CANARY extracted"}]`),
			}
			require.NoError(t, db.InTx(h.ctx, func(ctx context.Context, tx *store.Tx) error {
				_, err := h.courier.Enlist(ctx, tx, row, withheld)
				return err
			}))
			for range webhook.MaxAttempts {
				for _, d := range h.deliveries(t) {
					require.Equal(t, d.ActionID == phi.ID && d.Status == webhook.Pending, len(d.Content) > 0)
					require.NotContains(t, string(d.Content), "CANARY")
				}
				h.work(t)
				h.pass(6 * 3600e9)
			}
			full := 0
			for _, post := range h.posts() {
				var body map[string]any
				require.NoError(t, json.Unmarshal(post.body, &body))
				if body["transcript"] == "user: CANARY spoken" {
					full++
					require.Equal(t, "CANARY summary", body["summary"])
					require.Contains(t, string(post.body), "CANARY extracted")
					continue
				}
				require.NotContains(t, string(post.body), "CANARY")
			}
			require.Positive(t, full)
			for _, d := range h.deliveries(t) {
				require.NotEqual(t, webhook.Pending, d.Status, name)
				require.Empty(t, d.Content, name)
				if d.ActionID == phi.ID {
					require.NotContains(t, string(d.Attempts), `"response"`, "a receiver may repeat what it got")
				}
			}
		}
	})
}
