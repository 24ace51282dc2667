package call

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/ent/callspan"
	"github.com/callwright/callwright/ent/predicate"
	"github.com/callwright/callwright/internal/store"
)

// A window is added up from spans: the calls of the minute in which it begins are looked at one by one, then come whole
// minutes up to the next hour, then whole hours. Triggers of the database keep the spans with every change of a call, so
// a window of any length and fill costs some hundred rows at most, and is as exact as counting.
const (
	minute = 60
	hour   = 60 * minute
)

// window is what counts from an instant on, in the workspace of a query's context.
type window struct {
	c     *ent.Client
	since time.Time
	// The first whole minute in it and the first whole hour.
	minutes, hours time.Time
}

func windowSince(c *ent.Client, since time.Time) window {
	since = since.UTC()
	w := window{c: c, since: since, minutes: since.Truncate(time.Minute).Add(time.Minute)}
	w.hours = w.minutes.Truncate(time.Hour)
	if w.hours.Before(w.minutes) {
		w.hours = w.hours.Add(time.Hour)
	}
	return w
}

// amount is what a window or a span holds.
type amount struct{ Calls, Seconds int }

// total adds the window up. Seconds are those of calls that have ended.
func (w window) total(ctx context.Context) (amount, error) {
	begun, err := w.begun(ctx)
	if err != nil {
		return amount{}, err
	}
	sum := amount{Calls: len(begun)}
	for _, c := range begun {
		if c.Duration != nil {
			sum.Seconds += *c.Duration
		}
	}
	for _, part := range []predicate.CallSpan{w.wholeMinutes(), w.wholeHours()} {
		var n []struct{ Calls, Seconds int }
		err := w.c.CallSpan.Query().Where(part).Aggregate(added(callspan.FieldCalls), added(callspan.FieldSeconds)).Scan(ctx, &n)
		if err != nil {
			return amount{}, fmt.Errorf("add up spans: %w", err)
		}
		sum.Calls += n[0].Calls
		sum.Seconds += n[0].Seconds
	}
	return sum, nil
}

func added(field string) ent.AggregateFunc {
	return func(s *sql.Selector) string {
		return sql.As("CAST(COALESCE(SUM("+s.C(field)+"), 0) AS BIGINT)", field)
	}
}

func (w window) wholeMinutes() predicate.CallSpan {
	return callspan.And(callspan.Length(minute), callspan.StartGTE(w.minutes), callspan.StartLT(w.hours))
}

func (w window) wholeHours() predicate.CallSpan {
	return callspan.And(callspan.Length(hour), callspan.StartGTE(w.hours))
}

// begun are the calls of the minute in which the window begins, oldest first.
func (w window) begun(ctx context.Context) ([]*ent.Call, error) {
	return w.calls(ctx, call.QueuedAtGT(w.since), call.QueuedAtLT(w.minutes))
}

func (w window) calls(ctx context.Context, between ...predicate.Call) ([]*ent.Call, error) {
	rows, err := w.c.Call.Query().Where(between...).Where(counts).Order(call.ByQueuedAt()).
		Select(call.FieldID, call.FieldQueuedAt, call.FieldDuration).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the calls of a minute: %w", err)
	}
	return rows, nil
}

// part is a piece of the window: a whole span, or a single call.
type part struct {
	amount
	id     uuid.UUID // of a call
	at     time.Time // queued_at, or the beginning of the span
	length int       // of the span; 0 is a call
}

func (p part) end() time.Time { return p.at.Add(time.Duration(p.length) * time.Second) }

// parts are the pieces of the window, oldest first.
func (w window) parts(ctx context.Context) ([]part, error) {
	begun, err := w.begun(ctx)
	if err != nil {
		return nil, err
	}
	spans, err := w.spans(ctx, callspan.Or(w.wholeMinutes(), w.wholeHours()))
	if err != nil {
		return nil, err
	}
	return append(single(begun), spans...), nil
}

func (w window) spans(ctx context.Context, which predicate.CallSpan) ([]part, error) {
	rows, err := w.c.CallSpan.Query().Where(which).Order(callspan.ByStart()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read spans: %w", err)
	}
	parts := make([]part, len(rows))
	for i, r := range rows {
		parts[i] = part{amount: amount{int(r.Calls), int(r.Seconds)}, at: r.Start.UTC(), length: r.Length}
	}
	return parts, nil
}

func single(calls []*ent.Call) []part {
	parts := make([]part, len(calls))
	for i, c := range calls {
		parts[i] = part{amount: amount{Calls: 1}, id: c.ID, at: *c.QueuedAt}
		if c.Duration != nil {
			parts[i].Seconds = *c.Duration
		}
	}
	return parts
}

// inside are the pieces of a whole span: the minutes of an hour, the calls of a minute.
func (w window) inside(ctx context.Context, p part) ([]part, error) {
	if p.length == hour {
		return w.spans(ctx, callspan.And(callspan.Length(minute), callspan.StartGTE(p.at), callspan.StartLT(p.end())))
	}
	calls, err := w.calls(ctx, call.QueuedAtGTE(p.at), call.QueuedAtLT(p.end()))
	return single(calls), err
}

// first is when the oldest call of the window was queued; nil when there is none.
func (w window) first(ctx context.Context) (*time.Time, error) {
	return firstTime(ctx, w.c.Call.Query().Where(call.QueuedAtGT(w.since), counts).Order(call.ByQueuedAt()))
}

// passes goes through the window from its oldest call and returns when the call was queued with which the size that has
// been passed reaches enough; nil when all of it does not.
func (w window) passes(ctx context.Context, enough int, size func(part) int) (*time.Time, error) {
	parts, err := w.parts(ctx)
	for err == nil {
		i := 0
		for ; i < len(parts) && size(parts[i]) < enough; i++ {
			enough -= size(parts[i])
		}
		switch {
		case i == len(parts):
			return nil, nil
		case parts[i].length == 0:
			return &parts[i].at, nil
		}
		parts, err = w.inside(ctx, parts[i])
	}
	return nil, err
}

// running are the calls of the window that talk, and what they count by now.
func (w window) running(ctx context.Context, now time.Time) (talks, error) {
	// They are few; asked for those of the window, SQLite would go through all calls of it.
	rows, err := w.c.Call.Query().Where(call.InFlight(true), call.Status(string(StatusInProgress)), call.QueuedAtNotNil()).
		Select(call.FieldID, call.FieldQueuedAt, call.FieldAnsweredAt).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the calls in progress: %w", err)
	}
	var all talks
	for _, r := range rows {
		if r.QueuedAt.After(w.since) {
			all = append(all, talk{r.ID, *r.QueuedAt, seconds(r, now)})
		}
	}
	return all, nil
}

type talk struct {
	id      uuid.UUID
	queued  time.Time
	seconds int
}

type talks []talk

// in is what those of a part count; without one, what all do.
func (ts talks) in(p *part) (n int) {
	for _, t := range ts {
		if p == nil || p.id == t.id || p.length > 0 && !t.queued.Before(p.at) && t.queued.Before(p.end()) {
			n += t.seconds
		}
	}
	return n
}

// sweepSpans is at how many new calls, on average, the old spans of their workspace are deleted.
const sweepSpans = 256

// forgetSpans deletes the spans of a workspace that no window reaches.
func forgetSpans(ctx context.Context, tx *store.Tx, workspace uuid.UUID, now time.Time) error {
	_, err := tx.CallSpan.Delete().Where(callspan.WorkspaceID(workspace), callspan.LengthIn(minute, hour),
		callspan.StartLT(now.Add(-31*day))).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete old spans: %w", err)
	}
	return nil
}
