package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// work runs the jobs of the default queue until the test or its caller ends it.
func work(t testing.TB, db *store.DB, c store.JobsConfig, f func(context.Context, ping) error) (stop func() error) {
	t.Helper()
	c.Workers = river.NewWorkers()
	river.AddWorker(c.Workers, river.WorkFunc(func(ctx context.Context, j *river.Job[ping]) error { return f(ctx, j.Args) }))
	c.Queues = map[string]int{river.QueueDefault: 20}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- db.RunJobs(ctx, c) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { require.NoError(t, stop()) })
	return stop
}

func enqueue(ctx context.Context, db *store.DB, n int) error {
	return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.Enqueue(ctx, ping{n}, nil) })
}

func TestEveryCommittedJobIsWorkedOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		const jobs = 200
		var runs [jobs]atomic.Int32
		all := make(chan struct{}, jobs)
		stop := work(t, db, store.JobsConfig{}, func(_ context.Context, p ping) error {
			runs[p.N].Add(1)
			all <- struct{}{}
			return nil
		})
		var g errgroup.Group
		g.SetLimit(8)
		for n := range jobs {
			g.Go(func() error { return enqueue(t.Context(), db, n) })
		}
		require.NoError(t, g.Wait())
		for range jobs {
			<-all
		}
		require.NoError(t, stop())
		for n := range runs {
			require.EqualValues(t, 1, runs[n].Load(), "job %d", n)
		}
	})
}

func TestAJobOfAnotherProcessIsWorked(t *testing.T) {
	storetest.RunEmpty(t, func(t *testing.T, c store.Config) {
		db, other := migrated(t, c), migrated(t, c)
		worked := make(chan int, 1)
		work(t, db, store.JobsConfig{}, func(_ context.Context, p ping) error {
			worked <- p.N
			return nil
		})
		require.NoError(t, enqueue(t.Context(), other, 7))
		require.Equal(t, 7, <-worked)
	})
}

func TestAPeriodicJobRuns(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		worked := make(chan int, 1)
		periodic := river.NewPeriodicJob(river.PeriodicInterval(time.Hour), func() (river.JobArgs, *river.InsertOpts) { return ping{3}, nil },
			&river.PeriodicJobOpts{RunOnStart: true})
		work(t, db, store.JobsConfig{Periodic: []*river.PeriodicJob{periodic}}, func(_ context.Context, p ping) error {
			worked <- p.N
			return nil
		})
		require.Equal(t, 3, <-worked)
	})
}

func TestStoppingWaitsForRunningJobs(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		started, release := make(chan struct{}), make(chan struct{})
		var finished atomic.Bool
		stop := work(t, db, store.JobsConfig{}, func(ctx context.Context, _ ping) error {
			close(started)
			<-release
			finished.Store(ctx.Err() == nil)
			return nil
		})
		require.NoError(t, enqueue(t.Context(), db, 1))
		<-started
		var g errgroup.Group
		g.Go(stop)
		close(release)
		require.NoError(t, g.Wait())
		require.True(t, finished.Load(), "the job could end in peace")
		require.Zero(t, countJobs(t, db), "and is done")
	})
}

func TestStoppingEndsTheContextOfAJobThatTakesTooLong(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		started := make(chan struct{}, 1)
		stop := work(t, db, store.JobsConfig{StopTimeout: time.Millisecond}, func(ctx context.Context, _ ping) error {
			started <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		})
		require.NoError(t, enqueue(t.Context(), db, 1))
		<-started
		require.NoError(t, stop())
	})
}

func TestAJobsContextHasNoWorkspace(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		got := make(chan error, 1)
		work(t, db, store.JobsConfig{}, func(ctx context.Context, _ ping) error {
			_, err := db.Ent().Agent.Query().Count(ctx)
			got <- err
			return nil
		})
		ctx, _ := storetest.Workspace(t, db)
		require.NoError(t, enqueue(ctx, db, 1))
		require.ErrorIs(t, <-got, store.ErrNoWorkspace)
	})
}

func TestJobsEndWithADeadlineToo(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		workers := river.NewWorkers()
		river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[ping]) error { return nil }))
		require.NoError(t, db.RunJobs(ctx, store.JobsConfig{Workers: workers, Queues: map[string]int{"a": 1, "b": 1}}))
	})
}
