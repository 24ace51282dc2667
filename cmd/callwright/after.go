package main

import (
	"context"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/openai"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/webhook"
)

func (h *house) actions() agent.Actions {
	return agent.Actions{DB: h.db, Key: h.key, Egress: h.egress}
}

// openAfter builds what follows a call: the analysis, and the deliveries that are written in the transaction that ends it.
func (h *house) openAfter() error {
	model, err := h.serving.model()
	if err != nil {
		return err
	}
	h.builder = h.newBuilder(model)
	h.courier = webhook.New(webhook.Config{
		DB: h.db, Egress: h.egress, Actions: h.actions(), Backoff: h.serving.WebhookBackoff, Version: programVersion(), Log: h.log,
	})
	h.analyst = analysis.NewWorker(analysis.Config{
		DB: h.db, Model: model, Log: h.log,
		Finished: func(ctx context.Context, tx *store.Tx, c *ent.Call, withheld *analysis.Content) error {
			_, err := h.courier.Enlist(ctx, tx, c, withheld)
			return err
		},
		Committed: func() {
			h.courier.Wake()
			h.campaigns.Wake()
		},
	})
	return nil
}

// eraser deletes content whose time is over.
func (h *house) eraser() *call.Eraser {
	return &call.Eraser{DB: h.db, Recordings: h.recordings, Log: h.log,
		Others: []func(context.Context, *store.Tx, []uuid.UUID) error{analysis.Erase, webhook.Erase}}
}

// periodic are the jobs that come by themselves.
func periodic() []*river.PeriodicJob {
	erase := func() (river.JobArgs, *river.InsertOpts) {
		return call.EraseContent{}, &river.InsertOpts{Queue: call.QueueAfter, MaxAttempts: 1}
	}
	return []*river.PeriodicJob{
		river.NewPeriodicJob(river.PeriodicInterval(call.EraseEvery), erase, &river.PeriodicJobOpts{RunOnStart: true}),
	}
}

// model is the language model of the settings; nil without one.
func (s serving) model() (analysis.Model, error) {
	config := s.llm()
	if config.URL == "" {
		return nil, nil
	}
	c, err := openai.New(config)
	if err != nil {
		return nil, errorf("--llm-url: %v", err)
	}
	return c, nil
}
