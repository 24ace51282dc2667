package replay_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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
			answer, replayed, err := replay.Do(ctx, db, r, func() ([]byte, error) {
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
		_, _, err := replay.Do(ctx, db, request("k", "b"), func() ([]byte, error) { return nil, errors.New("no") })
		require.EqualError(t, err, "no")
		require.Panics(t, func() {
			_, _, _ = replay.Do(ctx, db, request("k", "b"), func() ([]byte, error) { panic("broken") })
		})
		gone, cancel := context.WithCancel(ctx)
		answer, replayed, err := replay.Do(gone, db, request("k", "b"), func() ([]byte, error) { cancel(); return nil, nil })
		require.NoError(t, err)
		require.False(t, replayed)
		require.Empty(t, answer)
		_, replayed, err = replay.Do(ctx, db, request("k", "b"), func() ([]byte, error) { panic("second effect") })
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
				_, _, err := replay.Do(ctx, db, request("k", "b"), func() ([]byte, error) { runs.Add(1); <-release; return []byte("x"), nil })
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
			_, _, err := replay.Do(ctx, db, request(key, ""), func() ([]byte, error) { panic("ran") })
			require.Equal(t, "validation_failed", fault.From(err).Code)
		}
		_, _, err := replay.Do(ctx, db, request("k", ""), func() ([]byte, error) { return []byte("1"), nil })
		require.NoError(t, err)
		db.Ent().IdempotencyKey.Update().SetExpiresAt(store.Now()).ExecX(ctx)
		answer, replayed, err := replay.Do(ctx, db, request("k", "another"), func() ([]byte, error) { return []byte("2"), nil })
		require.NoError(t, err)
		require.False(t, replayed)
		require.Equal(t, "2", string(answer))
	})
}
