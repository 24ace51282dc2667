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
	// Finished joins the transaction that ends an analysis; Committed comes after it. Both may be nil. withheld is what
	// was said and concluded when it is stored nowhere else, else nil.
	Finished  func(ctx context.Context, tx *store.Tx, c *ent.Call, withheld *Content) error
	Committed func()
	Log       *slog.Logger
}

// Content is what was said and concluded in a call.
type Content struct {
	Turns []*ent.Turn
	// Summary is nil without one; the others are as CallAnalysis keeps them.
	Summary                         *string
	Personalized, Checks, Extracted json.RawMessage
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
	if !call.Status(row.Status).Terminal() || row.ErasedFor != nil { // what was erased has been analysed
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
	return w.save(ctx, m, concluded)
}

// gather reads what the analysis works on.
func (w *Worker) gather(ctx context.Context, row *ent.Call) (m material, err error) {
	m.call = row
	if m.turns, err = call.Said(ctx, w.DB.Ent(), row.ID); err != nil || row.AgentID == nil {
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

// save writes the analysis and what follows from it in one transaction. A tag that somebody set by hand stays. Of a
// redacted call only the tag is written, and what was said is deleted. CONTRACT.md §2, HIPAA workspaces.
func (w *Worker) save(ctx context.Context, m material, c conclusion) error {
	concluded, err := m.content(c)
	if err != nil {
		return err
	}
	err = w.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		redacted, err := call.Redaction(ctx, tx.Client, m.call)
		if err != nil {
			return err
		}
		if redacted == "" {
			if err := upsert(ctx, tx, m.call, c, concluded); err != nil {
				return err
			}
			return w.finished(ctx, tx, m.call, nil)
		}
		if err := upsert(ctx, tx, m.call, c, Content{}); err != nil {
			return err
		}
		if err := w.finished(ctx, tx, m.call, &concluded); err != nil {
			return err
		}
		return call.Erase(ctx, tx, m.call, redacted)
	})
	if store.IsForeignKey(err) { // the call was deleted, or the tag was: once more without it
		if c.tag == nil {
			return nil
		}
		c.tag = nil
		return w.save(ctx, m, c)
	}
	if err == nil && w.Committed != nil {
		w.Committed()
	}
	return err
}

func (w *Worker) finished(ctx context.Context, tx *store.Tx, row *ent.Call, withheld *Content) error {
	if w.Finished == nil {
		return nil
	}
	return w.Finished(ctx, tx, row, withheld)
}

// content is what was said and concluded, in the form in which it is kept.
func (m material) content(c conclusion) (out Content, err error) {
	out = Content{Turns: m.turns, Summary: c.summary}
	var errs [3]error
	out.Personalized, errs[0] = marshal(c.personalized, c.personalized == nil)
	out.Checks, errs[1] = marshal(c.checks, len(c.checks) == 0)
	out.Extracted, errs[2] = marshal(c.extracted, len(c.extracted) == 0)
	return out, errors.Join(errs[:]...)
}

func upsert(ctx context.Context, tx *store.Tx, row *ent.Call, c conclusion, kept Content) error {
	there, err := tx.CallAnalysis.Query().Where(callanalysis.CallID(row.ID), store.ForUpdate).Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return err
	}
	if there == nil {
		return tx.CallAnalysis.Create().SetWorkspaceID(row.WorkspaceID).SetCallID(row.ID).SetNillableSummary(kept.Summary).
			SetPersonalized(kept.Personalized).SetChecks(kept.Checks).SetExtracted(kept.Extracted).
			SetNillableCallTagID(c.tag).SetSource(c.source).SetProblem(c.problem).SetAnalyzedAt(store.Now()).Exec(ctx)
	}
	up := there.Update().SetPersonalized(kept.Personalized).SetChecks(kept.Checks).SetExtracted(kept.Extracted).
		SetSource(c.source).SetProblem(c.problem).SetAnalyzedAt(store.Now()).SetUpdatedAt(store.Now())
	if kept.Summary != nil {
		up.SetSummary(*kept.Summary)
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
