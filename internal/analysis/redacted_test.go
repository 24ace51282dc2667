package analysis_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// A redacted call is analysed; what came out is handed on and stored nowhere, and what was said is deleted.
func TestNothingOfARedactedCallIsStoredBeyondItsAnalysis(t *testing.T) {
	flags := map[string]func(*testing.T, *ended){
		"workspace": func(_ *testing.T, e *ended) {
			e.db.Ent().Workspace.Update().SetHipaa(true).ExecX(store.System(e.ctx))
		},
		"agent": func(t *testing.T, e *ended) {
			yes := true
			_, err := agent.Update(e.ctx, e.db, e.agent.ID, agent.Settings{IsHIPAACompliant: &yes}, nil)
			require.NoError(t, err)
		},
	}
	for name, flag := range flags {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, db *store.DB) {
				e := setUp(t, db)
				flag(t, e)
				row := e.call(t, "completed", talk...)
				var got []*analysis.Content
				w := analysis.NewWorker(analysis.Config{
					DB: db, Log: slog.New(slog.DiscardHandler),
					Finished: func(_ context.Context, _ *store.Tx, _ *ent.Call, c *analysis.Content) error {
						got = append(got, c)
						return nil
					},
				})
				job := &river.Job[call.Ended]{JobRow: &rivertype.JobRow{Attempt: 1}, Args: call.Ended{WorkspaceID: row.WorkspaceID, CallID: row.ID}}
				for range 2 { // a job may run twice
					require.NoError(t, w.Work(t.Context(), job))
				}
				require.Len(t, got, 1)
				require.Len(t, got[0].Turns, 4)
				require.Contains(t, *got[0].Summary, "zoe@example.com")
				require.Contains(t, string(got[0].Extracted), "zoe@example.com")

				whole, err := analysis.Whole(e.ctx, db.Ent(), row.ID)
				require.NoError(t, err)
				text, err := json.Marshal(whole)
				require.NoError(t, err)
				require.NotContains(t, string(text), "zoe@example.com")
				require.NotNil(t, whole.AnalyzedAt)
				said, err := call.Said(e.ctx, db.Ent(), row.ID)
				require.NoError(t, err)
				require.Empty(t, said)
				row, err = call.Get(e.ctx, db.Ent(), row.ID)
				require.NoError(t, err)
				require.NotNil(t, row.ErasedAt)

				// The flag goes, what it did stays told.
				db.Ent().Workspace.Update().SetHipaa(false).ExecX(store.System(e.ctx))
				why, err := call.Redaction(e.ctx, db.Ent(), row)
				require.NoError(t, err)
				require.Equal(t, call.RedactionHIPAA, why)
			})
		})
	}
}
