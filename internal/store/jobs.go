package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

// JobsConfig says which jobs a process works.
type JobsConfig struct {
	// Workers knows every kind of job there is, also of queues that this process does not work: a stuck job of a kind
	// that is not known would be thrown away.
	Workers *river.Workers
	// Queues maps the name of a queue to how many of its jobs run at once.
	Queues map[string]int
	// Periodic jobs are enqueued by one process of all.
	Periodic []*river.PeriodicJob
	// JobTimeout ends the context of a job, unless its worker has a Timeout. One minute more and the job counts as lost
	// with its process and runs again; so no job may run for the length of a call. Defaults to 1 minute.
	JobTimeout time.Duration
	// StopTimeout is how long running jobs may go on after the end of the context. Defaults to 10 seconds.
	StopTimeout time.Duration
	// Log defaults to the log of the DB.
	Log *slog.Logger
}

// jobs is River on either database. One pair of fields is set.
type jobs struct {
	pgDriver     *riverpgxv5.Driver
	pgInsert     *river.Client[pgx.Tx]
	sqliteDriver *sqliteJobs
	sqliteInsert *river.Client[*sql.Tx]
}

func (j *jobs) open(db *DB) (err error) {
	config := &river.Config{Logger: quiet(db.log)}
	if db.postgres() {
		j.pgDriver = riverpgxv5.New(db.pool)
		j.pgInsert, err = river.NewClient(j.pgDriver, config)
		return err
	}
	j.sqliteDriver = newSQLiteJobs(db.write)
	j.sqliteInsert, err = river.NewClient(j.sqliteDriver, config)
	return err
}

// insertTopic is what River's workers listen to.
const insertTopic = "river_insert"

func insertPayload(queue string) string { return fmt.Sprintf(`{"queue": %q}`, queue) }

// Enqueue adds a job to the transaction: it is there when the transaction is committed. Works in every process, whether
// it runs jobs or not.
func (tx *Tx) Enqueue(ctx context.Context, args river.JobArgs, opts *river.InsertOpts) error {
	j := &tx.db.jobs
	var res *rivertype.JobInsertResult
	var err error
	if tx.db.postgres() {
		res, err = j.pgInsert.InsertTx(ctx, &pgTx{conn: tx.conn}, args, opts)
	} else {
		res, err = j.sqliteInsert.InsertTx(ctx, tx.sql, args, opts)
	}
	if err != nil {
		return fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	if res.Job.State != rivertype.JobStateAvailable {
		return nil
	}
	if tx.queues == nil {
		tx.queues = map[string]bool{}
	}
	if tx.queues[res.Job.Queue] {
		return nil
	}
	tx.queues[res.Job.Queue] = true
	if !tx.db.postgres() {
		return nil // woken after the commit
	}
	// River notifies a queue only once in FetchCooldown, which can fall on a transaction that commits later or never. Ours
	// comes with each commit; PostgreSQL drops the doubled one.
	err = j.pgDriver.UnwrapExecutor(&pgTx{conn: tx.conn}).NotifyMany(ctx, &riverdriver.NotifyManyParams{
		Topic: insertTopic, Payload: []string{insertPayload(res.Job.Queue)},
	})
	if err != nil {
		return fmt.Errorf("notify the workers of %s: %w", args.Kind(), err)
	}
	return nil
}

// wake tells the workers of this process about committed jobs, on SQLite.
func (j *jobs) wake(queues map[string]bool) {
	if j.sqliteDriver == nil {
		return
	}
	for q := range queues {
		j.sqliteDriver.wake(q)
	}
}

// RunJobs works jobs until ctx ends. Then it starts no more and gives the running ones StopTimeout to end.
func (db *DB) RunJobs(ctx context.Context, c JobsConfig) error {
	timeout := cmp.Or(c.JobTimeout, river.JobTimeoutDefault)
	config := &river.Config{
		Workers:              c.Workers,
		Queues:               map[string]river.QueueConfig{},
		PeriodicJobs:         c.Periodic,
		JobTimeout:           timeout,
		RescueStuckJobsAfter: timeout + time.Minute,
		SoftStopTimeout:      cmp.Or(c.StopTimeout, 10*time.Second),
		// A new job is announced, so polling is only the net for announcements that got lost. The cooldown is the most
		// that a job waits behind the one before it.
		FetchCooldown:     5 * time.Millisecond,
		FetchPollInterval: time.Second,
		Logger:            quiet(cmp.Or(c.Log, db.log)),
	}
	for name, n := range c.Queues {
		config.Queues[name] = river.QueueConfig{MaxWorkers: n}
	}
	if db.postgres() {
		return runJobs(ctx, db.jobs.pgDriver, config)
	}
	return runJobs(ctx, db.jobs.sqliteDriver, config)
}

func runJobs[TTx any](ctx context.Context, d riverdriver.Driver[TTx], config *river.Config) error {
	client, err := river.NewClient(d, config)
	if err != nil {
		return fmt.Errorf("set up jobs: %w", err)
	}
	// River's listener takes only a cancellation for the end; after a deadline it would spin forever.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if err := client.Start(running); err != nil {
		if ctx.Err() != nil {
			return nil // the end came while it connected
		}
		return fmt.Errorf("start jobs: %w", err)
	}
	select {
	case <-client.Stopped():
		return nil
	case <-ctx.Done():
	}
	select {
	case <-client.Stopped():
		return nil
	case <-time.After(config.SoftStopTimeout + 5*time.Second):
		return errors.New("stop jobs: some did not end")
	}
}

// quiet leaves of River's messages those that need somebody's attention.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

func (w warnings) WithAttrs(a []slog.Attr) slog.Handler { return warnings{w.Handler.WithAttrs(a)} }

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
