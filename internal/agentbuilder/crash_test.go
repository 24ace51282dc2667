package agentbuilder_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/openai"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// job names a row to the worker of a rig, with the workspace of the rig.
func job(r *rig, row *ent.AgentBuild, step string) *river.Job[agentbuilder.Build] {
	workspace, _ := store.Workspace(r.ctx)
	return &river.Job[agentbuilder.Build]{
		JobRow: &rivertype.JobRow{Attempt: 1}, Args: agentbuilder.Build{WorkspaceID: workspace, JobID: row.ID, Step: step},
	}
}

// died runs a step whose process dies at a point: everything on its way is gone.
func died(f func() error) (where any) {
	defer func() { where = recover() }()
	_ = f()
	return nil
}

// Every point at which the worker goes on is a point at which it dies once; then the step runs again, as River does it.
func TestACrashInAnyStepEndsWithExactlyOneAgent(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		web := restaurant(t)
		good := answers(goodDraft)

		var points []string // of a run that nothing happens to
		calm := newRig(t, db, good)
		calm.crash = func(p string) { points = append(points, p) }
		want := calm.made(t, calm.build(t, web.URL, "Be kind."))
		require.Equal(t, []string{"read", "page", "page", "page"}, points[:4])
		require.Subset(t, points, []string{"pages kept", "write", "written", "agent made", "completed"})

		for n := range points {
			t.Run(fmt.Sprintf("%d %s", n, points[n]), func(t *testing.T) {
				r := newRig(t, db, good)
				row := r.submit(t, web.URL, "Be kind.")
				passed := 0
				r.crash = func(p string) {
					if passed++; passed == n+1 {
						panic(p)
					}
				}
				deaths := 0
				for _, step := range []string{agentbuilder.StepRead, agentbuilder.StepWrite} {
					for try := 1; ; try++ {
						where := died(func() error { return r.step(row, step, try) })
						if where == nil {
							break
						}
						deaths++
						require.Equal(t, points[n], where)
						if r.get(t, row).Status != agentbuilder.Completed {
							require.Zero(t, r.agents(t), "no agent before the job is completed")
						}
					}
				}
				require.Equal(t, 1, deaths)
				done := r.get(t, row)
				require.Equal(t, want, r.made(t, done), "the same agent as without a crash")
				require.Equal(t, 1, r.agents(t))
				require.Equal(t, "test-model", done.Writer)

				// Once more after the end changes nothing.
				require.NoError(t, r.step(row, agentbuilder.StepRead, 1))
				require.NoError(t, r.step(row, agentbuilder.StepWrite, 1))
				require.Equal(t, done.UpdatedAt, r.get(t, row).UpdatedAt)
				require.Equal(t, 1, r.agents(t))
			})
		}
	})
}

func TestTwoWorkersOnOneStepMakeOneAgent(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, nil)
		row := r.submit(t, "", "We are Harbor Dental. Take appointments.")
		errs := make(chan error, 2)
		for range 2 {
			go func() { errs <- r.step(row, agentbuilder.StepWrite, 1) }()
		}
		require.NoError(t, errors.Join(<-errs, <-errs))
		r.made(t, r.get(t, row))
		require.Equal(t, 1, r.agents(t))
	})
}

func TestAJobThatKillsItsProcessAgainAndAgainIsGivenUp(t *testing.T) {
	r := newRig(t, storetest.SQLite(t), nil)
	row := r.submit(t, "https://example.com", "")
	require.NoError(t, r.step(row, agentbuilder.StepRead, 9))
	row = r.get(t, row)
	require.Equal(t, agentbuilder.Failed, row.Status)
	require.Equal(t, "internal_error", row.ErrorCode)
	require.NotNil(t, row.FinishedAt)
}

// A process that stops gives the job back, wherever it is; the next one goes on.
func TestAStopInTheMiddleOfAStepIsNoFailure(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		web := restaurant(t)
		for _, point := range []string{"read", "page", "write", "written"} {
			r := newRig(t, db, answers(goodDraft))
			row := r.submit(t, web.URL, "")
			ctx, stop := context.WithCancel(r.ctx)
			r.crash = func(p string) {
				if p == point {
					stop()
				}
			}
			for _, step := range []string{agentbuilder.StepRead, agentbuilder.StepWrite} {
				j := job(r, row, step)
				if err := r.worker.Work(ctx, j); err != nil {
					require.ErrorIs(t, err, context.Canceled, point)
					require.Equal(t, agentbuilder.Processing, r.get(t, row).Status, point)
					require.NoError(t, r.worker.Work(r.ctx, j), point)
				}
			}
			require.Error(t, ctx.Err(), "the point %q was never passed", point)
			r.made(t, r.get(t, row))
			require.Equal(t, 1, r.agents(t))
			require.NotEqual(t, agentbuilder.Builtin, r.get(t, row).Writer, "a stop is no failure of the model")
		}
	})
}

// The whole way with River, on both databases: the steps enqueue each other, and a job whose process stopped goes on in
// the next one.
func TestJobsGoOnInTheNextProcess(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		web := restaurant(t)
		r := newRig(t, db, nil)
		row := r.submit(t, web.URL, "")
		asked := make(chan struct{})
		r.run(t, modelFunc(func(ctx context.Context) (string, error) { // the first process stops while the model thinks
			close(asked)
			<-ctx.Done()
			return "", ctx.Err()
		}), func() bool {
			select {
			case <-asked:
				return true
			default:
				return false
			}
		})
		require.Equal(t, agentbuilder.Processing, r.get(t, row).Status)
		require.Equal(t, agentbuilder.StepWrite, r.get(t, row).Step)
		before := len(web.requests())

		r.run(t, answers(goodDraft), func() bool { return r.get(t, row).Status == agentbuilder.Completed })
		r.made(t, r.get(t, row))
		require.Len(t, web.requests(), before, "the site is not read again")
		require.Equal(t, 1, r.agents(t))
	})
}

// What a killed process held is taken up by the first that looks, whatever River still believes of it.
func TestWhatADeadProcessLeftIsTakenUpOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, nil)
		old := store.Now().Add(-time.Minute)
		left := func(status, step string, touched time.Time) *ent.AgentBuild { // no job of River stands behind it
			return db.Ent().AgentBuild.Create().SetInstructions("We are Harbor Dental.").SetStatus(status).SetStep(step).
				SetAgentID(store.NewID()).SetUpdatedAt(touched).SaveX(r.ctx)
		}
		dead := left(agentbuilder.Processing, agentbuilder.StepWrite, old)
		alive := left(agentbuilder.Processing, agentbuilder.StepWrite, store.Now())
		waiting := left(agentbuilder.Queued, "", old)
		failed := left(agentbuilder.Failed, agentbuilder.StepWrite, old)
		errs := make(chan error, 4)
		for range 4 {
			go func() { errs <- r.worker.TakeUp(t.Context()) }()
		}
		require.NoError(t, errors.Join(<-errs, <-errs, <-errs, <-errs))
		r.run(t, nil, func() bool { return r.get(t, dead).Status == agentbuilder.Completed })
		require.Equal(t, agentbuilder.Processing, r.get(t, alive).Status)
		require.Equal(t, agentbuilder.Queued, r.get(t, waiting).Status)
		require.Equal(t, agentbuilder.Failed, r.get(t, failed).Status)
		require.Equal(t, 1, r.agents(t))
	})
}

// modelFunc is a model that looks at the context.
type modelFunc func(ctx context.Context) (string, error)

func (modelFunc) Model() string { return "test-model" }

func (f modelFunc) Complete(ctx context.Context, _ openai.Prompt, _ openai.Schema) (json.RawMessage, error) {
	text, err := f(ctx)
	return json.RawMessage(text), err
}

// run works jobs as a process does, until the condition holds.
func (r *rig) run(t *testing.T, m agentbuilder.Model, until func() bool) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	w := agentbuilder.NewWorker(agentbuilder.Config{DB: r.db, Egress: r.builds.Egress, Model: m, Log: slog.New(slog.DiscardHandler)})
	w.Pause(func(context.Context, time.Duration) {})
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	done := make(chan error, 1)
	go func() {
		done <- r.db.RunJobs(ctx, store.JobsConfig{
			Workers: workers, Queues: map[string]int{agentbuilder.Queue: 4}, StopTimeout: 50 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
		})
	}()
	require.Eventually(t, until, 30*time.Second, 20*time.Millisecond)
	stop()
	require.NoError(t, <-done)
}

func TestEveryStepIsBoundedInTime(t *testing.T) {
	r := newRig(t, storetest.SQLite(t), nil)
	row := r.submit(t, "https://example.com", "")
	for _, step := range []string{agentbuilder.StepRead, agentbuilder.StepWrite} {
		require.LessOrEqual(t, r.worker.Timeout(job(r, row, step)), 3*time.Minute)
	}
}
