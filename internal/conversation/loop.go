package conversation

import (
	"context"

	"github.com/callwright/callwright/internal/carrier"
)

type talk struct {
	leg    carrier.Leg
	script Script
	hooks  Hooks
	result Result
}

func newTalk(leg carrier.Leg, s Script, h Hooks) *talk { return &talk{leg: leg, script: s, hooks: h} }

func (t *talk) run(ctx context.Context, speech Speech) (Result, error) {
	<-ctx.Done()
	return t.result, t.leg.Hangup(context.WithoutCancel(ctx), carrier.CauseNormal)
}
