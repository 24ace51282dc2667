package call

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/store"
)

// Outcome is how a call ended.
type Outcome struct {
	// Status is terminal.
	Status Status
	// Reason is the stable word of ended_reason, Message a sentence for people. Both may be empty.
	Reason, Message string
	// AnsweredBy is human, voicemail, ivr or, when nobody can tell, empty.
	AnsweredBy string
	// AnsweredByReason is what that was concluded from, for people.
	AnsweredByReason string
	// RecordingConsent is given or refused; empty when nobody was asked.
	RecordingConsent string
	// EndedAt defaults to now.
	EndedAt time.Time
	// Duration is in seconds from the answer. Defaults to the time from the answer to EndedAt; none without an answer.
	Duration *int
	// RetryAfter is before when another try is pointless.
	RetryAfter *time.Time
	Latency    *Latency
	// Recording is what was kept of the sound, if it can be fetched.
	Recording *Recorded
}

// Recorded is a recording that is complete in the bucket.
type Recorded struct {
	Key  string
	Size int64
}

// Finish writes the end of a call, frees its slot and, when calls wait for one, leaves a Dial job: in one transaction.
// The first ending counts: on a call that has ended Finish changes nothing and returns ErrEnded. Also ends a call that
// waits, as blocked, skipped or canceled. ctx is store.System's.
func Finish(ctx context.Context, db *store.DB, id uuid.UUID, o Outcome) error {
	if !o.Status.Terminal() {
		return fmt.Errorf("finish call %s: %s is not an ending", id, o.Status)
	}
	c, err := Get(ctx, db.Ent(), id)
	if err != nil {
		return err
	}
	return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := lock(ctx, tx, c.WorkspaceID); err != nil {
			return err
		}
		c, err := Get(ctx, tx.Client, id)
		if err != nil {
			return err
		}
		_, err = end(ctx, tx, c, o)
		return err
	})
}

// end is Finish inside a transaction that has the workspace's lock.
func end(ctx context.Context, tx *store.Tx, c *ent.Call, o Outcome) (*ent.Call, error) {
	from := Status(c.Status)
	switch {
	case from.Terminal():
		return nil, ErrEnded
	case !CanMove(from, o.Status):
		return nil, fmt.Errorf("call %s can not go from %s to %s", c.ID, from, o.Status)
	}
	now := store.Now()
	ended := stored(o.EndedAt)
	if o.EndedAt.IsZero() {
		ended = now
	}
	up := tx.Call.UpdateOne(c).SetStatus(string(o.Status)).SetEndedAt(ended).SetUpdatedAt(now).
		SetInFlight(false).ClearLeaseUntil() // lease_owner stays: a late answer gives the call back to it
	if o.Reason != "" {
		up.SetEndedReason(o.Reason)
	}
	if o.Message != "" {
		up.SetEndedMessage(storable(o.Message))
	}
	if slices.Contains(enumTexts["answered_by"], o.AnsweredBy) {
		up.SetAnsweredBy(o.AnsweredBy)
	}
	if o.AnsweredBy != "" && o.AnsweredByReason != "" {
		up.SetAnsweredByReason(storable(o.AnsweredByReason))
	}
	if o.RecordingConsent != "" {
		up.SetRecordingConsent(o.RecordingConsent)
	}
	if o.RetryAfter != nil {
		up.SetRetryAfter(stored(*o.RetryAfter))
	}
	switch {
	case o.Duration != nil:
		up.SetDuration(max(*o.Duration, 0))
	case c.AnsweredAt != nil:
		up.SetDuration(max(int(ended.Sub(*c.AnsweredAt).Round(time.Second)/time.Second), 0))
	}
	if o.Latency != nil {
		text, err := json.Marshal(o.Latency)
		if err != nil {
			return nil, fmt.Errorf("write latency: %w", err)
		}
		up.SetLatency(text)
	}
	if o.Recording != nil {
		up.SetRecordingKey(o.Recording.Key).SetRecordingSize(o.Recording.Size).SetRecordedAt(now)
	}
	until, err := keepUntil(ctx, tx.Client, c.AgentID, ended)
	if err != nil {
		return nil, err
	}
	done, err := up.SetNillableKeepUntil(until).Save(ctx)
	if err != nil {
		return nil, fmt.Errorf("end call %s: %w", c.ID, err)
	}
	if err := enqueueEnded(ctx, tx, done); err != nil || !c.InFlight { // without it no slot became free
		return done, err
	}
	waits, err := tx.Call.Query().Where(call.WorkspaceID(c.WorkspaceID), queued).Exist(ctx)
	if err != nil || !waits {
		return done, err
	}
	return done, enqueueDial(ctx, tx, c.WorkspaceID)
}
