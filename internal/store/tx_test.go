package store_test

import (
	"context"
	"errors"
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

type ping struct{ N int }

func (ping) Kind() string { return "test_ping" }

// countJobs works all jobs there are and gives how many ran: a last job of its own tells that the others are done.
func countJobs(t *testing.T, db *store.DB) int {
	t.Helper()
	const last = -1
	require.NoError(t, db.InTx(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.Enqueue(ctx, ping{last}, &river.InsertOpts{Priority: 4})
	}))
	n := 0
	ctx, stop := context.WithCancel(t.Context())
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, j *river.Job[ping]) error {
		if j.Args.N == last {
			stop()
		} else {
			n++
		}
		return nil
	}))
	require.NoError(t, db.RunJobs(ctx, store.JobsConfig{Workers: workers, Queues: map[string]int{river.QueueDefault: 1}}))
	return n
}

func TestRowsAndJobsCommitTogether(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		require.NoError(t, db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			if _, err := newAgent(tx.Client, "kept").Save(ctx); err != nil {
				return err
			}
			return tx.Enqueue(ctx, ping{1}, nil)
		}))
		n, err := db.Ent().Agent.Query().Count(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, 1, countJobs(t, db))
	})
}

func TestRowsAndJobsRollBackTogether(t *testing.T) {
	boom := errors.New("boom")
	for name, end := range map[string]func() error{
		"on an error": func() error { return boom },
		"on a panic":  func() error { panic(boom) },
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, db *store.DB) {
				ctx, _ := storetest.Workspace(t, db)
				tx := func() (err error) {
					defer func() {
						if r := recover(); r != nil {
							err = r.(error)
						}
					}()
					return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
						if _, err := newAgent(tx.Client, "lost").Save(ctx); err != nil {
							return err
						}
						if err := tx.Enqueue(ctx, ping{1}, nil); err != nil {
							return err
						}
						return end()
					})
				}
				require.ErrorIs(t, tx(), boom)
				n, err := db.Ent().Agent.Query().Count(ctx)
				require.NoError(t, err)
				require.Zero(t, n)
				require.Zero(t, countJobs(t, db))
			})
		})
	}
}

func TestManyRowsInOneTransaction(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		require.NoError(t, db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.Agent.CreateBulk(newAgent(tx.Client, "one"), newAgent(tx.Client, "two")).Exec(ctx); err != nil {
				return err
			}
			got, err := tx.Agent.Query().Where(named("two"), store.ForUpdate).Only(ctx)
			if err != nil {
				return err
			}
			return tx.Agent.UpdateOne(got).SetName("three").Exec(ctx)
		}))
		names, err := db.Ent().Agent.Query().Order(store.OrderText("name", false)).Select("name").Strings(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{"one", "three"}, names)
	})
}

func TestTheOuterClientIsRefusedInsideATransaction(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		require.NoError(t, db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			_, err := newAgent(db.Ent(), "x").Save(ctx)
			require.ErrorContains(t, err, "use its Tx")
			_, err = db.Ent().Agent.Query().Count(ctx)
			require.ErrorContains(t, err, "use its Tx")
			_, err = db.Ent().Tx(ctx)
			require.ErrorContains(t, err, "use its Tx")
			require.ErrorContains(t, db.InTx(ctx, nil), "inside a transaction")
			_, err = newAgent(tx.Client, "y").Save(ctx)
			return err
		}))
	})
}

func TestATransactionIsOverWhenItsFunctionIs(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		var leaked *store.Tx
		require.NoError(t, db.InTx(ctx, func(_ context.Context, tx *store.Tx) error {
			leaked = tx
			return nil
		}))
		_, err := newAgent(leaked.Client, "late").Save(ctx)
		require.Error(t, err)
	})
}

func TestATransactionEndsAtItsDeadline(t *testing.T) {
	storetest.RunEmpty(t, func(t *testing.T, c store.Config) {
		c.TxTimeout = 50 * time.Millisecond
		db := migrated(t, c)
		ctx, _ := storetest.Workspace(t, db)
		err := db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			_, err := newAgent(tx.Client, "slow").Save(ctx)
			require.NoError(t, err)
			<-ctx.Done()
			return nil
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		n, err := db.Ent().Agent.Query().Count(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

func TestACanceledCallerCommitsNothing(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		canceled, cancel := context.WithCancel(ctx)
		err := db.InTx(canceled, func(ctx context.Context, tx *store.Tx) error {
			_, err := newAgent(tx.Client, "x").Save(ctx)
			require.NoError(t, err)
			cancel()
			return nil
		})
		require.ErrorIs(t, err, context.Canceled)
		n, err := db.Ent().Agent.Query().Count(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

// Two transactions take two rows in opposite order. PostgreSQL ends one of them; it runs again. On SQLite they never
// meet, and waiting for the other one inside would be forever.
func TestATransactionThatLostADeadlockRunsAgain(t *testing.T) {
	db := storetest.Postgres(t)
	ctx, _ := storetest.Workspace(t, db)
	for _, n := range []string{"a", "b"} {
		_, err := newAgent(db.Ent(), n).Save(ctx)
		require.NoError(t, err)
	}
	var both sync.WaitGroup
	both.Add(2)
	var runs atomic.Int32
	cross := func(first, second string) error {
		tried := false
		return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			runs.Add(1)
			if err := tx.Agent.Update().Where(named(first)).SetNameFold(first).Exec(ctx); err != nil {
				return err
			}
			if !tried {
				tried = true
				both.Done()
				both.Wait()
			}
			return tx.Agent.Update().Where(named(second)).SetNameFold(second).Exec(ctx)
		})
	}
	var g errgroup.Group
	g.Go(func() error { return cross("a", "b") })
	g.Go(func() error { return cross("b", "a") })
	require.NoError(t, g.Wait())
	require.EqualValues(t, 3, runs.Load())
}

// Without the lock two of them would read the same count.
func TestForUpdateMakesReadersOfARowWait(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, id := storetest.Workspace(t, db)
		require.NoError(t, db.Ent().CallCount.Create().Exec(ctx))
		var g errgroup.Group
		for range 20 {
			g.Go(func() error {
				return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
					if _, err := tx.Workspace.Query().Where(store.ForUpdate).Order().First(ctx); err != nil {
						return err
					}
					c, err := tx.CallCount.Query().Only(ctx)
					if err != nil {
						return err
					}
					return tx.CallCount.UpdateOne(c).SetTotal(c.Total + 1).Exec(ctx)
				})
			})
		}
		require.NoError(t, g.Wait())
		c, err := db.Ent().CallCount.Query().Only(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 20, c.Total)
		require.Equal(t, id, c.WorkspaceID)
	})
}
