package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/workspace"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Plan is what a workspace may use (spec: Usage report; CONTRACT.md §4).
type Plan struct {
	// Limited is false for a plan without windows: then nothing refuses a call.
	Limited bool `json:"limited"`
	// ConcurrentCalls is how many calls may be in flight at once, 1 to 10,000; further ones wait as queued.
	ConcurrentCalls int `json:"concurrent_calls"`
	// MaxCallMinutes is the longest single call, 1 to 1,440 minutes.
	MaxCallMinutes int `json:"max_call_minutes"`
	// Windows are the rolling ceilings; only a limited plan has them.
	Windows []Window `json:"windows"`
}

// Window is a rolling ceiling on calls or minutes.
type Window struct {
	// Key is one of WindowKeys.
	Key string `json:"key"`
	// Limit is the ceiling, 0 to 1,000,000,000; 0 refuses every call.
	Limit int `json:"limit"`
}

// WindowKeys are the windows that a plan can have (CONTRACT.md §2, Usage).
var WindowKeys = []string{"calls_per_hour", "calls_per_day", "calls_per_30_days", "minutes_per_day", "minutes_per_30_days"}

// DefaultPlan is the plan of a workspace made without one.
func DefaultPlan() Plan {
	return Plan{ConcurrentCalls: 100, MaxCallMinutes: 60, Windows: []Window{}}
}

// ParsePlan reads a plan as people write it. What it leaves out is as in DefaultPlan; an unknown member, window key or
// a value out of range is validation_failed.
func ParsePlan(text []byte) (Plan, error) {
	p := DefaultPlan()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	switch err := dec.Decode(&p); {
	case errors.Is(err, io.EOF):
		return Plan{}, fault.Invalidf("plan: the file is empty")
	case err != nil:
		return Plan{}, fault.Invalidf("plan: %s", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Plan{}, fault.Invalidf("plan: more follows the object")
	}
	if p.Windows == nil {
		p.Windows = []Window{}
	}
	return p, p.validate()
}

func (p Plan) validate() error {
	if p.ConcurrentCalls < 1 || p.ConcurrentCalls > 10_000 {
		return fault.Invalidf("concurrent_calls must be 1 to 10,000")
	}
	if p.MaxCallMinutes < 1 || p.MaxCallMinutes > 1440 {
		return fault.Invalidf("max_call_minutes must be 1 to 1,440")
	}
	seen := map[string]bool{}
	for _, w := range p.Windows {
		switch {
		case !slices.Contains(WindowKeys, w.Key):
			return fault.Invalidf("windows: unknown key %q", w.Key).With("known", anys(WindowKeys))
		case seen[w.Key]:
			return fault.Invalidf("windows: %s stands there twice", w.Key)
		case w.Limit < 0 || w.Limit > 1_000_000_000:
			return fault.Invalidf("windows: the limit of %s must be 0 to 1,000,000,000", w.Key)
		}
		seen[w.Key] = true
	}
	return nil
}

// PlanOf reads the plan of a workspace; an unlimited one comes without windows, whatever it was given. An unknown
// workspace is workspace_not_found.
func PlanOf(ctx context.Context, c *ent.Client, id uuid.UUID) (Plan, error) {
	return planOf(ctx, c.Workspace.Query().Where(workspace.ID(id)))
}

// LockPlan is PlanOf inside a transaction, with the workspace's row locked until its end: what is admitted against the
// plan is admitted one after the other.
func LockPlan(ctx context.Context, tx *store.Tx, id uuid.UUID) (Plan, error) {
	q := tx.Workspace.Query().Where(workspace.ID(id))
	q.Modify(store.ForUpdate)
	return planOf(ctx, q)
}

func planOf(ctx context.Context, q *ent.WorkspaceQuery) (Plan, error) {
	w, err := q.Only(ctx)
	if ent.IsNotFound(err) {
		return Plan{}, fault.Missing("workspace")
	}
	if err != nil {
		return Plan{}, err
	}
	p, err := ParsePlan(w.Plan)
	if err != nil {
		return Plan{}, fmt.Errorf("stored plan of workspace %s: %v", w.ID, err) // our defect, not the caller's
	}
	if !p.Limited {
		p.Windows = []Window{}
	}
	return p, nil
}

func anys(s []string) []any {
	out := make([]any, len(s))
	for i, v := range s {
		out[i] = v
	}
	return out
}
