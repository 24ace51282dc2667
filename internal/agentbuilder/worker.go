package agentbuilder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/agentbuild"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// Config says what jobs are done with.
type Config struct {
	DB *store.DB
	// Egress reaches websites, and nothing private.
	Egress *egress.Client
	// Model writes agents; without one the built-in writer does.
	Model Model
	// UserAgent is what websites see. Defaults to "Callwright (+https://github.com/callwright/callwright)".
	UserAgent string
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Worker does the steps of jobs: the job Build. It runs twice with the same result.
type Worker struct {
	river.WorkerDefaults[Build]
	Config
	// at, of tests, is told what comes next.
	at    func(point string)
	clock clock
}

// NewWorker returns the worker of Build.
func NewWorker(c Config) *Worker {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.UserAgent = orElse(c.UserAgent, robotName+" (+https://github.com/callwright/callwright)")
	return &Worker{Config: c, at: func(string) {}, clock: realClock}
}

const (
	// modelTries is how often a model is asked before the built-in writer writes; each try has modelTime.
	modelTries = 2
	modelTime  = 75 * time.Second
	// lastTry is the attempt after which a job that dies again and again is given up.
	lastTry = 8
)

// Timeout bounds one step.
func (w *Worker) Timeout(job *river.Job[Build]) time.Duration {
	if job.Args.Step == StepRead {
		return maxTime + 15*time.Second
	}
	return modelTries*modelTime + 15*time.Second
}

// NextRetry is soon: somebody waits for the agent.
func (w *Worker) NextRetry(job *river.Job[Build]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt) * 2 * time.Second)
}

// Work does one step of one job.
func (w *Worker) Work(ctx context.Context, job *river.Job[Build]) error {
	ctx = store.WithWorkspace(ctx, job.Args.WorkspaceID)
	row, err := Get(ctx, w.DB.Ent(), job.Args.JobID)
	switch {
	case fault.Is(err, "job_not_found"):
		return nil // deleted with its workspace
	case err != nil:
		return err
	case row.Status == Completed || row.Status == Failed:
		return nil
	case job.Attempt > lastTry:
		return w.fail(ctx, row, errInternal)
	case job.Args.Step == StepRead && row.Step == StepWrite:
		return nil // was done
	}
	defer w.touched(ctx, row)()
	switch job.Args.Step {
	case StepRead:
		err = w.read(ctx, row)
	default:
		err = w.write(ctx, row)
	}
	if err != nil {
		w.Log.WarnContext(ctx, "a step of an agent build did not end", "job_id", row.ID, "step", job.Args.Step, "attempt", job.Attempt, "error", err)
	}
	return err
}

// open is the predicate of a job that has not ended.
func open(row *ent.AgentBuild) func(*ent.AgentBuildUpdate) *ent.AgentBuildUpdate {
	return func(u *ent.AgentBuildUpdate) *ent.AgentBuildUpdate {
		return u.Where(agentbuild.ID(row.ID), agentbuild.StatusIn(Queued, Processing)).SetUpdatedAt(store.Now())
	}
}

// read crawls the site and keeps what it says.
func (w *Worker) read(ctx context.Context, row *ent.AgentBuild) error {
	err := open(row)(w.DB.Ent().AgentBuild.Update()).SetStatus(Processing).SetStep(StepRead).Exec(ctx)
	if err != nil {
		return err
	}
	w.at("read")
	c := newCrawl(w.Egress.CrawlTransport(), w.UserAgent)
	c.clock = w.clock
	c.progress = func(ctx context.Context, found, read int) {
		w.at("page")
		// Only for those who watch: what counts is written at the end.
		_ = open(row)(w.DB.Ent().AgentBuild.Update()).SetPagesFound(found).SetPagesRead(read).Exec(ctx)
	}
	site, err := c.run(ctx, row.WebsiteURL)
	var known *failure
	switch {
	case errors.As(err, &known):
		return w.fail(ctx, row, known)
	case err != nil:
		return err
	}
	pages, err := json.Marshal(site)
	if err != nil {
		return fmt.Errorf("keep the pages: %w", err)
	}
	return w.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		now, err := w.locked(ctx, tx, row)
		if now == nil || err != nil || now.Step == StepWrite {
			return err
		}
		err = tx.AgentBuild.UpdateOne(now).SetPages(pages).SetPagesFound(c.frontier.found).SetPagesRead(len(site.Pages)).
			SetStep(StepWrite).SetUpdatedAt(store.Now()).Exec(ctx)
		if err != nil {
			return err
		}
		if err := enqueue(ctx, tx, row, StepWrite); err != nil {
			return err
		}
		w.at("pages kept")
		return nil
	})
}

// locked is the row as it stands, locked; nil when the job has ended.
func (w *Worker) locked(ctx context.Context, tx *store.Tx, row *ent.AgentBuild) (*ent.AgentBuild, error) {
	now, err := tx.AgentBuild.Query().Where(agentbuild.ID(row.ID), store.ForUpdate).Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	case now.Status == Completed || now.Status == Failed:
		return nil, nil
	}
	return now, nil
}

// write makes the agent.
func (w *Worker) write(ctx context.Context, row *ent.AgentBuild) error {
	err := open(row)(w.DB.Ent().AgentBuild.Update()).SetStatus(Processing).SetStep(StepWrite).Exec(ctx)
	if err != nil {
		return err
	}
	w.at("write")
	site, err := SiteOf(row)
	if err != nil {
		return err
	}
	workspace, err := identity.GetWorkspace(ctx, w.DB.Ent())
	if err != nil {
		return err
	}
	s := newSource(site, row.Instructions, workspace.Name, row.CreatedAt)
	made, err := w.compose(ctx, s)
	var known *failure
	switch {
	case errors.As(err, &known):
		return w.fail(ctx, row, known)
	case err != nil:
		return err
	}
	w.at("written")
	err = w.complete(ctx, row, made)
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Kind == fault.Invalid && made.writer != Builtin {
		// No draft should come to this; the built-in one does not.
		w.Log.ErrorContext(ctx, "an agent that a model wrote was refused", "job_id", row.ID, "error", err)
		return w.complete(ctx, row, s.fallback("The model's draft could not be used."))
	}
	return err
}

// compose asks the model, or does without one. The error is a *failure, or that of ctx.
func (w *Worker) compose(ctx context.Context, s *source) (*written, error) {
	if w.Model == nil {
		from := "your instructions"
		if s.site != nil {
			from = "what the site says for machines, its headings and your instructions"
		}
		return s.orNothing("No language model is set, so the built-in writer made this agent from " + from +
			". Read it over before its first call.")
	}
	for try := 1; ; try++ {
		timed, cancel := context.WithTimeout(ctx, modelTime)
		d, err := ask(timed, w.Model, s.site, s.instructions)
		cancel()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			out := &written{settings: s.settle(d), writer: w.Model.Model()}
			out.note = s.note("")
			return out, nil
		}
		w.Log.WarnContext(ctx, "the model wrote no agent", "try", try, "error", err)
		if try == modelTries {
			return s.orNothing(fmt.Sprintf("The language model %s gave no answer that could be used, so the built-in writer made this agent. "+
				"Read it over before its first call, or submit the job again.", w.Model.Model()))
		}
	}
}

// orNothing is the built-in writer's agent, or the failure where it has nothing to write from.
func (s *source) orNothing(why string) (*written, error) {
	out := s.fallback(why)
	if out == nil {
		return nil, failuref("model_unavailable", "The instructions say too little to make an agent without a language model. "+
			"Describe in a sentence or two what the agent is for.")
	}
	return out, nil
}

func (s *source) fallback(why string) *written {
	d := s.builtin()
	if d == nil {
		return nil
	}
	s.judge.dropped = 0
	out := &written{settings: s.settle(d), writer: Builtin}
	s.judge.dropped = 0 // what the built-in writer leaves out of pages is no news
	out.note = s.note(why)
	return out
}

// note tells the owner what was unusual.
func (s *source) note(first string) string {
	notes := []string{first}
	ignored := 0
	if s.site != nil {
		for _, p := range s.site.Pages {
			ignored += len(p.Ignored)
		}
	}
	if ignored > 0 {
		notes = append(notes, "The site has text that gives orders to a machine; it was left out.")
	}
	if s.judge.dropped > 0 {
		notes = append(notes, fmt.Sprintf("Lines of the model's draft that were left out because they could not be trusted: %d.", s.judge.dropped))
	}
	return strings.TrimSpace(strings.Join(notes, " "))
}

// complete makes the agent and ends the job in one transaction.
func (w *Worker) complete(ctx context.Context, row *ent.AgentBuild, made *written) error {
	err := w.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		now, err := w.locked(ctx, tx, row)
		if now == nil || err != nil {
			return err
		}
		if _, err := agent.CreateAs(ctx, tx, *now.AgentID, made.settings); err != nil {
			return err
		}
		w.at("agent made")
		return tx.AgentBuild.UpdateOne(now).SetStatus(Completed).SetWriter(made.writer).SetNote(made.note).
			SetFinishedAt(store.Now()).SetUpdatedAt(store.Now()).Exec(ctx)
	})
	if err == nil {
		w.at("completed")
	}
	return err
}

// fail ends a job without an agent.
func (w *Worker) fail(ctx context.Context, row *ent.AgentBuild, f *failure) error {
	w.at("failed")
	return open(row)(w.DB.Ent().AgentBuild.Update()).SetStatus(Failed).SetErrorCode(f.code).SetError(f.sentence).
		SetFinishedAt(store.Now()).Exec(ctx)
}
