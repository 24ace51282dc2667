package main_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/egress"
)

// build does the steps of a job of the agent builder on a machine that knows no names.
func (w *tenant) build(t *testing.T, id uuid.UUID) error {
	out := egress.New(egress.Config{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no network")
	}}})
	defer out.Close()
	worker := agentbuilder.NewWorker(agentbuilder.Config{DB: w.house.db, Egress: out})
	row, err := agentbuilder.Get(w.ctx(t), w.house.db.Ent(), id)
	require.NoError(t, err)
	steps := []string{agentbuilder.StepRead, agentbuilder.StepWrite}
	if row.WebsiteURL == "" {
		steps = steps[1:]
	}
	for _, step := range steps {
		err := worker.Work(t.Context(), &river.Job[agentbuilder.Build]{
			JobRow: &rivertype.JobRow{Attempt: 1}, Args: agentbuilder.Build{WorkspaceID: w.id, JobID: id, Step: step},
		})
		require.NoError(t, err)
	}
	return nil
}
