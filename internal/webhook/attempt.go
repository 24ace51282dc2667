package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

const (
	// maxShown is how much of an answer is kept.
	maxShown = 1 << 10
	// maxWait bounds what a receiver's Retry-After may ask for.
	maxWait = 6 * time.Hour
)

// attempt posts a claimed delivery and records how it went.
func (c *Courier) attempt(ctx context.Context, d *ent.Delivery) {
	ctx = store.WithWorkspace(ctx, d.WorkspaceID)
	log := c.Log.With("delivery_id", d.ID, "call_id", d.CallID, "attempt", d.Attempt)
	if d.Attempt > MaxAttempts { // the process that made the last one died before it could say so
		c.record(ctx, d, Attempt{Number: MaxAttempts, At: c.Now(), Error: "The attempt was interrupted on our side."}, 0, log)
		return
	}
	try := Attempt{Number: d.Attempt, At: c.Now()}
	wait, err := c.post(ctx, d, &try)
	if err != nil {
		log.ErrorContext(ctx, "delivery could not be built", "error", err)
		c.giveBack(ctx, d, log)
		return
	}
	c.record(ctx, d, try, wait, log)
}

// errGone is an attempt that can never be made: the action or the call is not there any more.
const errGone = "The webhook action was deleted."

// post builds the request afresh, sends it and fills the try in. wait is what the receiver asked for.
func (c *Courier) post(ctx context.Context, d *ent.Delivery, try *Attempt) (wait time.Duration, err error) {
	row, err := call.Get(ctx, c.DB.Ent(), d.CallID)
	if err != nil {
		return 0, err
	}
	action, err := agent.ActionByID(ctx, c.DB.Ent(), d.ActionID)
	if fault.Is(err, "action_not_found") {
		try.Error = errGone
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	body, phi, err := c.build(ctx, d, row, action.IncludePhi)
	if err != nil {
		return 0, err
	}
	header, err := c.header(d, action)
	if err != nil {
		return 0, err
	}
	answer, err := c.Egress.Do(ctx, egress.Webhook, egress.Request{
		Method: http.MethodPost, URL: action.URL, Header: header, Body: body, Timeout: timeout, MaxBody: maxShown,
	})
	try.DurationMS = int(answer.Duration.Milliseconds())
	if err != nil {
		try.Error = egress.ClassOf(err).Sentence()
		return 0, nil
	}
	try.HTTPStatus = answer.Status
	if !phi { // a receiver may repeat what it got
		try.Response = printable(answer.Body)
	}
	if answer.Status < 200 || answer.Status > 299 {
		try.Error = fmt.Sprintf("The receiver answered %d; only 2xx counts as delivered.", answer.Status)
	}
	return retryAfter(answer.Header, c.Now()), nil
}

// header are the configured headers and our own, which can not be replaced.
func (c *Courier) header(d *ent.Delivery, action *ent.Action) (http.Header, error) {
	configured, err := c.Actions.Headers(action)
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	h.Set("User-Agent", "Callwright/"+c.Version)
	for name, value := range configured {
		h.Set(name, value)
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Delivery-Id", d.ID.String())
	h.Set("X-Delivery-Attempt", strconv.Itoa(d.Attempt))
	return h, nil
}

// record writes how the attempt went and what comes next. A delivery that somebody else has meanwhile is left alone.
func (c *Courier) record(ctx context.Context, d *ent.Delivery, try Attempt, wait time.Duration, log *slog.Logger) {
	err := c.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := byID(ctx, tx, d.ID)
		if ent.IsNotFound(err) {
			return nil // deleted with its call
		}
		if err != nil || row.Status != Pending || row.Attempt != d.Attempt {
			return err
		}
		all, err := Attempts(row)
		if err != nil {
			return err
		}
		if of, err := call.Get(ctx, tx.Client, d.CallID); err != nil {
			return err
		} else if of.ErasedFor != nil { // meanwhile; the answer may repeat what was said
			try.Response = ""
		}
		raw, err := json.Marshal(append(all, try))
		if err != nil {
			return err
		}
		now := c.Now()
		up := row.Update().SetAttempts(raw).ClearLeaseUntil().SetUpdatedAt(now)
		switch {
		case try.Error == "":
			up.SetStatus(Delivered).SetDeliveredAt(now).ClearNextAttemptAt().ClearContent()
		case try.Number >= MaxAttempts || try.Error == errGone:
			up.SetStatus(Abandoned).ClearNextAttemptAt().ClearContent()
		default:
			up.SetNextAttemptAt(now.Add(max(c.step(try.Number), wait)))
		}
		return up.Exec(ctx)
	})
	if err != nil {
		log.WarnContext(ctx, "an attempt could not be recorded", "error", err)
	}
}

// giveBack takes a claim back: our own records could not be read, nothing was sent, so it was no attempt.
func (c *Courier) giveBack(ctx context.Context, d *ent.Delivery, log *slog.Logger) {
	err := c.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := byID(ctx, tx, d.ID)
		if err != nil || row.Attempt != d.Attempt {
			return err
		}
		return row.Update().AddAttempt(-1).ClearLeaseUntil().SetNextAttemptAt(c.Now().Add(5 * time.Second)).Exec(ctx)
	})
	if err != nil {
		log.WarnContext(ctx, "a claim could not be given back", "error", err)
	}
}

// step is the pause after an attempt, ±20 %.
func (c *Courier) step(attempt int) time.Duration {
	base := c.Backoff[min(attempt, len(c.Backoff))-1]
	return base + time.Duration((rand.Float64()-0.5)*0.4*float64(base))
}

// retryAfter is what the receiver asks for: seconds or a date, at most maxWait.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if text == "" {
		return 0
	}
	if seconds, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		return min(max(time.Duration(seconds)*time.Second, 0), maxWait)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxWait)
	}
	return 0
}

// printable is text that both databases store.
func printable(body []byte) string {
	if len(body) > maxShown {
		body = body[:maxShown]
	}
	text := strings.ToValidUTF8(string(body), "\uFFFD")
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	for len(text) > maxShown { // replacement characters are longer than what they replace
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text
}
