package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
)

const (
	// storeTimeout bounds the way of a recording into the bucket; the call holds its slot meanwhile.
	storeTimeout = 30 * time.Second
	// adoptEvery is how often recordings are looked for that did not get into the bucket with their call's end.
	adoptEvery = time.Minute
)

// keep closes the recording of a call and puts it where recordings are kept. Without success the spool file stays, and
// adoptLoop tries again.
func (e *Engine) keep(h *held, t *tape) *call.Recorded {
	got, err := t.close()
	if err != nil {
		e.Log.ErrorContext(h.live, "recording broke off", "call", h.id, "length", got.length, "error", err)
	}
	if got.lost > 0 {
		e.Log.ErrorContext(h.live, "recording has gaps: the disk was too slow", "call", h.id, "lost", got.lost)
	}
	if got.length == 0 || h.lost() {
		return nil
	}
	recorded, err := e.store(h.live, h.row)
	if err != nil {
		e.Log.ErrorContext(h.live, "recording not stored yet", "call", h.id, "error", err)
		return nil
	}
	return recorded
}

// store copies the spool file of a call into the bucket. Doing it twice gives the same. A call that became redacted while
// it was recorded gives nothing: its spool file is all there is of it, and goes.
func (e *Engine) store(ctx context.Context, row *ent.Call) (*call.Recorded, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	redacted, err := call.Redaction(ctx, e.DB.Ent(), row)
	if err != nil {
		return nil, err
	}
	if redacted != "" {
		e.unspool(row.ID)
		return nil, nil
	}
	f, err := os.Open(spoolPath(e.SpoolDir, row.ID))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	key := call.RecordingKey(row)
	if err := e.Recordings.Put(ctx, key, f); err != nil {
		return nil, fmt.Errorf("store a recording: %w", err)
	}
	return &call.Recorded{Key: key, Size: info.Size()}, nil
}

// recover repairs and stores what the dead holder of a call recorded, as far as it is on this machine.
func (e *Engine) recover(ctx context.Context, row *ent.Call) (*call.Recorded, time.Duration, error) {
	length, err := repair(spoolPath(e.SpoolDir, row.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil || length == 0 {
		return nil, 0, err
	}
	recorded, err := e.store(ctx, row)
	return recorded, length, err
}

// unspool removes the spool file of a call whose recording is kept.
func (e *Engine) unspool(id uuid.UUID) {
	if err := os.Remove(spoolPath(e.SpoolDir, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.Log.Warn("could not remove a spool file", "call", id, "error", err)
	}
}

// adoptLoop sees to spool files that outlived their call's end: the bucket was away then, the process died between the
// end and the removal, or a process on another machine wrote the end and has no access to this directory.
func (e *Engine) adoptLoop(ctx context.Context) {
	every(ctx, adoptEvery, func(ctx context.Context) {
		ids, err := spooled(e.SpoolDir)
		if err != nil {
			e.Log.ErrorContext(ctx, "could not list running recordings", "error", err)
		}
		for _, id := range ids {
			if e.held.get(id) != nil {
				continue
			}
			if err := e.adopt(ctx, id); err != nil {
				e.Log.WarnContext(ctx, "could not keep a recording", "call", id, "error", err)
			}
		}
	})
}

func (e *Engine) adopt(ctx context.Context, id uuid.UUID) error {
	row, err := call.Get(ctx, e.DB.Ent(), id)
	switch {
	case fault.Is(err, "call_not_found"):
		e.unspool(id) // deleted, and its recording with it
		return nil
	case err != nil:
		return err
	case row.InFlight:
		return nil // somebody holds it, or the reaper will come
	case row.RecordingSize == nil:
		recorded, length, err := e.recover(ctx, row)
		if err != nil {
			return err
		}
		if length > 0 && recorded != nil {
			if err := call.SaveRecording(ctx, e.DB, id, *recorded); err != nil && !settled(err) {
				return err
			}
		}
	}
	e.unspool(id)
	return nil
}
