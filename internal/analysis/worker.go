package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/callanalysis"
	"github.com/callwright/callwright/ent/calltag"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Config says who analyses and what follows.
type Config struct {
	DB *store.DB
	// Model concludes; without one the built-in analysis does.
	Model Model
	// Finished joins the transaction that ends an analysis; Committed comes after it. Both may be nil.
	Finished  func(ctx context.Context, tx *store.Tx, c *ent.Call) error
	Committed func()
	Log       *slog.Logger
}

// Worker analyses a call when it has ended: the job call.Ended. It runs twice with the same result.
type Worker struct {
	river.WorkerDefaults[call.Ended]
	Config
}

// NewWorker returns the worker of call.Ended.
func NewWorker(c Config) *Worker {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Worker{Config: c}
}

// lastTry is the attempt from which on a failing model is given up: the call gets what can be had without it.
const lastTry = 3

// Timeout bounds one analysis.
func (w *Worker) Timeout(*river.Job[call.Ended]) time.Duration { return 90 * time.Second }

// NextRetry is soon: webhooks wait for the analysis.
func (w *Worker) NextRetry(job *river.Job[call.Ended]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt) * 5 * time.Second)
}

// Work analyses one call.
func (w *Worker) Work(ctx context.Context, job *river.Job[call.Ended]) error {
	ctx = store.WithWorkspace(ctx, job.Args.WorkspaceID)
	row, err := call.Get(ctx, w.DB.Ent(), job.Args.CallID)
	if fault.Is(err, "call_not_found") {
		return nil // deleted in the meantime
	}
	if err != nil {
		return err
	}
	if !call.Status(row.Status).Terminal() {
		return nil // a late answer brought it back; its next end comes with a job of its own
	}
	m, err := w.gather(ctx, row)
	if err != nil {
		return err
	}
	concluded, err := w.conclude(ctx, m, job.Attempt)
	if err != nil {
		return err
	}
	return w.save(ctx, row, concluded)
}

// gather reads what the analysis works on.
func (w *Worker) gather(ctx context.Context, row *ent.Call) (m material, err error) {
	m.call = row
	if m.turns, err = call.Turns(ctx, w.DB.Ent(), row.ID); err != nil || row.AgentID == nil {
		return m, err
	}
	a, err := agent.Get(ctx, w.DB.Ent(), *row.AgentID)
	if fault.Is(err, "agent_not_found") {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	settings, err := agent.SettingsOf(a)
	if err != nil {
		return m, err
	}
	if settings.PostCallNotes != nil {
		m.notes = *settings.PostCallNotes
	}
	if m.actions, err = agent.ActionsOf(ctx, w.DB.Ent(), a.ID); err != nil {
		return m, err
	}
	if settings.CallTag != nil && *settings.CallTag {
		m.tags, err = w.DB.Ent().CallTag.Query().Order(calltag.ByCreatedAt(), calltag.ByID()).Limit(200).All(ctx)
	}
	return m, err
}

// conclude asks the model, or does without one. A call in which the other side said nothing has nothing to analyse. A
// model that fails is asked again by the job; the last time the call gets what can be had, and says why.
func (w *Worker) conclude(ctx context.Context, m material, attempt int) (conclusion, error) {
	if !slices.ContainsFunc(m.turns, func(t *ent.Turn) bool { return t.Role == call.RoleUser && strings.TrimSpace(t.Content) != "" }) {
		return m.nothing(), nil
	}
	if w.Model == nil {
		return m.deterministic(), nil
	}
	c, err := m.ask(ctx, w.Model)
	if err == nil {
		return c, nil
	}
	w.Log.WarnContext(ctx, "analysis by the model failed", "call_id", m.call.ID, "attempt", attempt, "error", err)
	if attempt < lastTry {
		return c, fmt.Errorf("analyse call %s: %w", m.call.ID, err)
	}
	c = m.nothing()
	c.source, c.problem = w.Model.Model(), "The language model did not answer; summary, checks and data are missing."
	return c, nil
}

// nothing is the analysis of a call without a conversation: every field is there and empty.
func (m material) nothing() conclusion {
	c := conclusion{source: Builtin}
	for _, a := range m.actions {
		if a.Type == agent.ActionExtractData {
			c.extracted = append(c.extracted, extractionOf(a, nil))
		}
	}
	return c
}

// save writes the analysis and what follows from it in one transaction. A tag that somebody set by hand stays.
func (w *Worker) save(ctx context.Context, row *ent.Call, c conclusion) error {
	err := w.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := upsert(ctx, tx, row, c); err != nil {
			return err
		}
		if w.Finished == nil {
			return nil
		}
		return w.Finished(ctx, tx, row)
	})
	if store.IsForeignKey(err) { // the call was deleted, or the tag was: once more without it
		if c.tag == nil {
			return nil
		}
		c.tag = nil
		return w.save(ctx, row, c)
	}
	if err == nil && w.Committed != nil {
		w.Committed()
	}
	return err
}

func upsert(ctx context.Context, tx *store.Tx, row *ent.Call, c conclusion) error {
	there, err := tx.CallAnalysis.Query().Where(callanalysis.CallID(row.ID), store.ForUpdate).Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return err
	}
	personalized, err1 := marshal(c.personalized, c.personalized == nil)
	checks, err2 := marshal(c.checks, len(c.checks) == 0)
	extracted, err3 := marshal(c.extracted, len(c.extracted) == 0)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if there == nil {
		return tx.CallAnalysis.Create().SetWorkspaceID(row.WorkspaceID).SetCallID(row.ID).SetNillableSummary(c.summary).
			SetPersonalized(personalized).SetChecks(checks).SetExtracted(extracted).SetNillableCallTagID(c.tag).
			SetSource(c.source).SetProblem(c.problem).SetAnalyzedAt(store.Now()).Exec(ctx)
	}
	up := there.Update().SetPersonalized(personalized).SetChecks(checks).SetExtracted(extracted).SetSource(c.source).
		SetProblem(c.problem).SetAnalyzedAt(store.Now()).SetUpdatedAt(store.Now())
	if c.summary != nil {
		up.SetSummary(*c.summary)
	} else {
		up.ClearSummary()
	}
	if there.CallTagID == nil && c.tag != nil {
		up.SetCallTagID(*c.tag)
	}
	return up.Exec(ctx)
}

func marshal(v any, none bool) (json.RawMessage, error) {
	if none {
		return nil, nil
	}
	return json.Marshal(v)
}
