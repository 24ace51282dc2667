package main

import (
	"context"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/analysis"
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
	h.courier = webhook.New(webhook.Config{
		DB: h.db, Egress: h.egress, Actions: h.actions(), Backoff: h.serving.WebhookBackoff, Version: programVersion(), Log: h.log,
	})
	h.analyst = analysis.NewWorker(analysis.Config{
		DB: h.db, Model: model, Log: h.log,
		Finished: func(ctx context.Context, tx *store.Tx, c *ent.Call) error {
			_, err := webhook.Enlist(ctx, tx, c)
			return err
		},
		Committed: h.courier.Wake,
	})
	return nil
}

// model is the language model of the settings; nil without one.
func (s serving) model() (analysis.Model, error) {
	if s.LLMURL == "" {
		return nil, nil
	}
	c, err := openai.New(openai.Config{URL: s.LLMURL, Key: s.LLMKey, Model: s.LLMModel})
	if err != nil {
		return nil, errorf("--llm-url: %v", err)
	}
	return c, nil
}
