package replay_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/replay"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func request(key, body string) replay.Request {
	return replay.Request{Key: key, Method: "Place", Body: []byte(body)}
}

func TestTheSameKeyAndBodyGiveTheFirstAnswer(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		runs := 0
		do := func(ctx context.Context, r replay.Request) (string, bool, error) {
			answer, replayed, err := replay.Do(ctx, db, r, func(context.Context) ([]byte, error) {
				runs++
				return []byte{byte('0' + runs)}, nil
			})
			return string(answer), replayed, err
		}
		answer, replayed, err := do(ctx, request("k", "body"))
		require.NoError(t, err)
		require.Equal(t, "1", answer)
		require.False(t, replayed)
		answer, replayed, err = do(ctx, request("k", "body"))
		require.NoError(t, err)
		require.Equal(t, "1", answer)
		require.True(t, replayed)

		_, _, err = do(ctx, request("k", "other"))
		require.Equal(t, "idempotency_key_reused", fault.From(err).Code)
		require.Equal(t, 422, fault.From(err).Kind.HTTP())
		_, _, err = do(ctx, replay.Request{Key: "k", Method: "Other", Body: []byte("body")})
		require.Equal(t, "idempotency_key_reused", fault.From(err).Code)
		answer, _, err = do(other, request("k", "other"))
		require.NoError(t, err)
		require.Equal(t, "2", answer, "keys belong to a workspace")
		require.Equal(t, 2, runs)
	})
}

func TestARequestThatFailedMayBeSentAgain(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		_, _, err := replay.Do(ctx, db, request("k", "b"), func(context.Context) ([]byte, error) { return nil, errors.New("no") })
		require.EqualError(t, err, "no")
		require.Panics(t, func() {
			_, _, _ = replay.Do(ctx, db, request("k", "b"), func(context.Context) ([]byte, error) { panic("broken") })
		})
		gone, cancel := context.WithCancel(ctx)
		answer, replayed, err := replay.Do(gone, db, request("k", "b"), func(context.Context) ([]byte, error) { cancel(); return nil, nil })
		require.NoError(t, err)
		require.False(t, replayed)
		require.Empty(t, answer)
		_, replayed, err = replay.Do(ctx, db, request("k", "b"), func(context.Context) ([]byte, error) { panic("second effect") })
		require.NoError(t, err)
		require.True(t, replayed, "the caller of the first one had gone, its effect had not")
	})
}

func TestOnlyOneOfManyAtOnceRuns(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		var runs atomic.Int64
		release := make(chan struct{})
		var wg sync.WaitGroup
		var busy atomic.Int64
		for range 16 {
			wg.Go(func() {
				_, _, err := replay.Do(ctx, db, request("k", "b"), func(context.Context) ([]byte, error) { runs.Add(1); <-release; return []byte("x"), nil })
				if fault.Is(err, "idempotency_in_progress") {
					if busy.Add(1) == 15 {
						close(release)
					}
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, runs.Load())
		require.EqualValues(t, 15, busy.Load())
	})
}

func TestKeysAreVisibleCharactersAndExpire(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for _, key := range []string{strings.Repeat("k", 256), "a b", "ä", "a\n"} {
			_, _, err := replay.Do(ctx, db, request(key, ""), func(context.Context) ([]byte, error) { panic("ran") })
			require.Equal(t, "validation_failed", fault.From(err).Code)
		}
		_, _, err := replay.Do(ctx, db, request("k", ""), func(context.Context) ([]byte, error) { return []byte("1"), nil })
		require.NoError(t, err)
		db.Ent().IdempotencyKey.Update().SetExpiresAt(store.Now()).ExecX(ctx)
		answer, replayed, err := replay.Do(ctx, db, request("k", "another"), func(context.Context) ([]byte, error) { return []byte("2"), nil })
		require.NoError(t, err)
		require.False(t, replayed)
		require.Equal(t, "2", string(answer))
	})
}

// makesOne makes something, as requests do, and answers.
func makesOne(db *store.DB, answer string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		err := db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			return tx.Agent.Create().SetName(answer).SetNameFold(answer).SetSettings(json.RawMessage("{}")).Exec(ctx)
		})
		return []byte(answer), err
	}
}

func made(t *testing.T, ctx context.Context, db *store.DB) int {
	t.Helper()
	n, err := db.Ent().Agent.Query().Count(ctx)
	require.NoError(t, err)
	return n
}

// left is the row of a process that died some time ago.
func left(t *testing.T, ctx context.Context, db *store.DB, ago time.Duration, response []byte) {
	t.Helper()
	hash := sha256.Sum256([]byte("Place\x00b"))
	at := store.Now().Add(-ago)
	row := db.Ent().IdempotencyKey.Create().SetKey("k").SetMethod("Place").SetRequestHash(hash[:]).SetCreatedAt(at).
		SetExpiresAt(at.Add(24 * time.Hour))
	if response != nil {
		row.SetResponse(response)
	}
	require.NoError(t, row.Exec(ctx))
}

func TestAProcessThatDiedBeforeItsEffectHoldsTheKeyForAMinute(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		left(t, ctx, db, 50*time.Second, nil)
		_, _, err := replay.Do(ctx, db, request("k", "b"), makesOne(db, "a"))
		require.Equal(t, "idempotency_in_progress", fault.From(err).Code)
		require.Positive(t, fault.From(err).RetryAfter)
		require.Zero(t, made(t, ctx, db))

		other, _ := storetest.Workspace(t, db)
		left(t, other, db, 61*time.Second, nil)
		answer, replayed, err := replay.Do(other, db, request("k", "b"), makesOne(db, "a"))
		require.NoError(t, err)
		require.False(t, replayed)
		require.Equal(t, "a", string(answer))
		require.Equal(t, 1, made(t, other, db))
	})
}

func TestAProcessThatDiedAfterItsEffectIsNotFollowedByASecondOne(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		left(t, ctx, db, time.Hour, []byte{0})
		_, _, err := replay.Do(ctx, db, request("k", "b"), makesOne(db, "a"))
		require.Equal(t, "idempotency_in_progress", fault.From(err).Code)
		require.Contains(t, err.Error(), "carried out")
		require.Zero(t, made(t, ctx, db))
	})
}

func TestAFirstRequestThatComesTooLateHasNoEffect(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		_, _, err := replay.Do(ctx, db, request("k", "b"), func(first context.Context) ([]byte, error) {
			_, err := db.Ent().IdempotencyKey.Delete().Exec(ctx) // as when its minute is over
			require.NoError(t, err)
			answer, replayed, err := replay.Do(ctx, db, request("k", "b"), makesOne(db, "second"))
			require.NoError(t, err)
			require.False(t, replayed)
			require.Equal(t, "second", string(answer))
			return makesOne(db, "first")(first)
		})
		require.Equal(t, "idempotency_in_progress", fault.From(err).Code)
		require.Equal(t, 1, made(t, ctx, db))
		answer, replayed, err := replay.Do(ctx, db, request("k", "b"), makesOne(db, "third"))
		require.NoError(t, err)
		require.True(t, replayed)
		require.Equal(t, "second", string(answer))
	})
}

func TestAFailureAfterTheEffectKeepsTheKey(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		_, _, err := replay.Do(ctx, db, request("k", "b"), func(ctx context.Context) ([]byte, error) {
			_, err := makesOne(db, "a")(ctx)
			require.NoError(t, err)
			return nil, errors.New("the answer could not be written")
		})
		require.Error(t, err)
		_, _, err = replay.Do(ctx, db, request("k", "b"), makesOne(db, "b"))
		require.Equal(t, "idempotency_in_progress", fault.From(err).Code)

		_, _, err = replay.Do(ctx, db, request("l", "b"), func(ctx context.Context) ([]byte, error) {
			return nil, db.InTx(ctx, func(context.Context, *store.Tx) error { return errors.New("rolled back") })
		})
		require.Error(t, err)
		_, _, err = replay.Do(ctx, db, request("l", "b"), makesOne(db, "b"))
		require.NoError(t, err)
		require.Equal(t, 2, made(t, ctx, db))
	})
}
