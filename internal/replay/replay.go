// Package replay keeps the first answer to a request under the caller's Idempotency-Key, so that a repetition has no second
// effect.
//
// A key belongs to a workspace for 24 hours. The row is written before the request runs and gets the answer after it; a
// request that failed leaves no row, since it had no effect and may be sent again.
//
// Each transaction of the request marks the row in passing, so that the mark and the effect are committed together, and
// fails if the row is no longer there. A process that dies before the mark has had no effect: after a minute the row counts
// as gone and the request may be sent again, and should the first one still live, its transaction fails. One that dies
// between mark and answer has had its effect and nobody knows the answer any more: repetitions are told so until the key
// expires, rather than run into a second effect. CONTRACT.md §1, Idempotency-Key.
package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/idempotencykey"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// kept is how long a key is remembered.
const kept = 24 * time.Hour

// lease is how long a request that has had no effect yet holds its key. It is longer than any request may run.
const lease = time.Minute

// The first byte of a stored answer: committed tells that the request has had its effect and not been answered, answered
// that the answer follows. A column does not tell an empty answer from none.
const committed, answered byte = 0, 1

// maxKey is the longest key, in characters.
const maxKey = 255

// Request is a request that has a key.
type Request struct {
	Key string
	// Method it was sent to; the same key for another one is a reuse.
	Method string
	// Body in a form that is equal for equal requests.
	Body []byte
}

// Do runs f for the first request with its key in the workspace of ctx and keeps the answer; a repetition gets that answer
// and replayed true. Errors of its own: validation_failed (the key), idempotency_key_reused (422: same key, other request),
// idempotency_in_progress (409: the first one has not been answered). The effects of f are in transactions of the context
// that it is given.
func Do(ctx context.Context, db *store.DB, r Request, f func(context.Context) ([]byte, error)) (answer []byte, replayed bool, err error) {
	if err := check(r.Key); err != nil {
		return nil, false, err
	}
	hash := sha256.Sum256(append([]byte(r.Method+"\x00"), r.Body...))
	row, mine, err := reserve(ctx, db, r, hash[:])
	if err != nil {
		return nil, false, err
	}
	if !mine {
		answer, err := answerOf(row, hash[:])
		return answer, true, err
	}
	// What the request left behind must be kept or taken away also when its caller has gone.
	after := context.WithoutCancel(ctx)
	done := false
	defer func() {
		if !done { // it failed, or panicked
			forget(after, db, row)
		}
	}()
	if answer, err = f(store.First(ctx, mark(row))); err != nil {
		return nil, false, err
	}
	done = true
	keep(after, db, row, answer)
	return answer, false, nil
}

func check(key string) error {
	if len(key) > maxKey {
		return fault.Invalidf("Idempotency-Key must have at most %d characters", maxKey)
	}
	for _, c := range []byte(key) {
		if c < '!' || c > '~' {
			return fault.Invalidf("Idempotency-Key must be visible ASCII characters")
		}
	}
	return nil
}

// reserve writes the row of a key, or reads the one that is there.
func reserve(ctx context.Context, db *store.DB, r Request, hash []byte) (row *ent.IdempotencyKey, mine bool, err error) {
	workspace, ok := store.Workspace(ctx)
	if !ok {
		return nil, false, store.ErrNoWorkspace
	}
	id := store.NewID()
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		now := store.Now()
		if _, err := tx.IdempotencyKey.Delete().Where(idempotencykey.ExpiresAtLTE(now)).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.IdempotencyKey.Delete().Where(idempotencykey.Key(r.Key), idempotencykey.ResponseIsNil(),
			idempotencykey.CreatedAtLTE(now.Add(-lease))).Exec(ctx)
		if err != nil {
			return err
		}
		err = tx.IdempotencyKey.Create().SetID(id).SetWorkspaceID(workspace).SetKey(r.Key).SetMethod(r.Method).
			SetRequestHash(hash).SetCreatedAt(now).SetExpiresAt(now.Add(kept)).
			OnConflictColumns(idempotencykey.FieldWorkspaceID, idempotencykey.FieldKey).DoNothing().Exec(ctx)
		if err != nil && !store.IsNoRow(err) {
			return err
		}
		row, err = tx.IdempotencyKey.Query().Where(idempotencykey.Key(r.Key)).Only(ctx)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("reserve an idempotency key: %w", err)
	}
	return row, row.ID == id, nil
}

func answerOf(row *ent.IdempotencyKey, hash []byte) ([]byte, error) {
	switch {
	case !bytes.Equal(row.RequestHash, hash):
		return nil, fault.New(fault.Unprocessable, "idempotency_key_reused", "this Idempotency-Key was sent with another request; use a new one")
	case len(row.Response) > 0 && row.Response[0] == committed && store.Now().Sub(row.CreatedAt) > lease:
		return nil, fault.New(fault.Conflict, "idempotency_in_progress",
			"the first request with this Idempotency-Key was carried out and its answer is lost; look for what it made")
	case len(row.Response) == 0 || row.Response[0] == committed:
		return nil, errInProgress()
	}
	return row.Response[1:], nil
}

func errInProgress() *fault.Error {
	f := fault.New(fault.Conflict, "idempotency_in_progress", "the first request with this Idempotency-Key has not been answered yet")
	f.RetryAfter = time.Second
	return f
}

// mark is what each transaction of a request begins with.
func mark(row *ent.IdempotencyKey) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.IdempotencyKey.Update().Where(idempotencykey.ID(row.ID)).SetResponse([]byte{committed}).Save(ctx)
		if err != nil {
			return fmt.Errorf("mark an idempotency key: %w", err)
		}
		if n == 0 { // it took too long, and another request has the key
			return errInProgress()
		}
		return nil
	}
}

func keep(ctx context.Context, db *store.DB, row *ent.IdempotencyKey, answer []byte) {
	stored := append([]byte{answered}, answer...)
	err := db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.IdempotencyKey.UpdateOne(row).SetResponse(stored).SetUpdatedAt(store.Now()).Exec(ctx)
	})
	if err != nil {
		slog.WarnContext(ctx, "the answer of an idempotent request was not kept", "method", row.Method, "error", err)
	}
}

// forget takes the key of a failed request away, unless it has had an effect all the same.
func forget(ctx context.Context, db *store.DB, row *ent.IdempotencyKey) {
	err := db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.IdempotencyKey.Delete().Where(idempotencykey.ID(row.ID), idempotencykey.ResponseIsNil()).Exec(ctx)
		return err
	})
	if err != nil {
		slog.WarnContext(ctx, "an idempotency key of a failed request is still reserved", "method", row.Method, "error", err)
	}
}
