// Package webhook posts each ended call to the webhook actions of its agent: payload version 1.1, five attempts.
//
// Promises and what keeps them:
//
//   - One delivery per action per call: a row, unique on (call, action), written in the transaction that ends the analysis.
//   - Nothing is lost: a row is pending until a receiver answered 2xx or five attempts failed. The attempt is counted before
//     the post leaves, under a lease, so that a crash costs one attempt and at most one repeated post.
//   - A slow receiver holds up nobody else: at most [perEndpoint] posts are under way to one endpoint, and endpoints that have
//     that many are left out of the claim.
//   - The body is built afresh for each attempt, from the records as they stand. Content that no record holds (HIPAA) and
//     that the action is to get is kept sealed on the delivery until it is delivered or abandoned.
//
// spec: Events; CONTRACT.md §2, Webhook.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/store"
)

// Where a delivery stands.
const (
	Pending   = "pending"
	Delivered = "delivered"
	Abandoned = "abandoned"
)

// MaxAttempts is the first try plus four retries. spec: Delivery, Attempts.
const MaxAttempts = 5

// Attempt is one try, as it is kept.
type Attempt struct {
	// From 1.
	Number int       `json:"number"`
	At     time.Time `json:"at"`
	// What the receiver answered; 0 when it did not.
	HTTPStatus int `json:"http_status,omitempty"`
	// Milliseconds until the answer or the failure.
	DurationMS int `json:"duration_ms"`
	// Why it failed, for people.
	Error string `json:"error,omitempty"`
	// First 1 KB of the answer.
	Response string `json:"response,omitempty"`
}

// Attempts reads the tries of a delivery, oldest first.
func Attempts(d *ent.Delivery) ([]Attempt, error) {
	if len(d.Attempts) == 0 {
		return nil, nil
	}
	var all []Attempt
	if err := json.Unmarshal(d.Attempts, &all); err != nil {
		return nil, fmt.Errorf("attempts of delivery %s: %w", d.ID, err)
	}
	return all, nil
}

// Enlist writes one delivery for each webhook action of the call's agent. It joins the transaction that ends the analysis;
// a call that is analysed again gets no second row. withheld is the call's content where it is stored nowhere else, else
// nil: deliveries of actions that get it in spite of that keep it, sealed. It reports how many are new.
func (c *Courier) Enlist(ctx context.Context, tx *store.Tx, row *ent.Call, withheld *analysis.Content) (int, error) {
	if row.AgentID == nil {
		return 0, nil
	}
	actions, err := agent.ActionsOf(ctx, tx.Client, *row.AgentID)
	if err != nil {
		return 0, fmt.Errorf("read the actions of agent %s: %w", row.AgentID, err)
	}
	enlisted := 0
	for _, a := range actions {
		if a.Type != agent.ActionWebhook {
			continue
		}
		n, err := c.enlist(ctx, tx, row, a, withheld)
		if err != nil {
			return 0, fmt.Errorf("enlist a delivery of call %s: %w", row.ID, err)
		}
		enlisted += n
	}
	return enlisted, nil
}

func (c *Courier) enlist(ctx context.Context, tx *store.Tx, row *ent.Call, a *ent.Action, withheld *analysis.Content) (int, error) {
	shown, endpoint := describe(a.URL)
	id := store.NewID()
	add := tx.Delivery.Create().SetID(id).SetWorkspaceID(row.WorkspaceID).SetCallID(row.ID).SetActionID(a.ID).SetURL(shown).
		SetEndpoint(endpoint).SetNextAttemptAt(store.Now())
	if withheld != nil && a.IncludePhi {
		sealed, err := contentOf(withheld).seal(c.Actions.Key, place(row.WorkspaceID, id))
		if err != nil {
			return 0, err
		}
		add.SetContent(sealed)
	}
	err := add.OnConflictColumns("workspace_id", "call_id", "action_id").DoNothing().Exec(ctx)
	switch {
	case store.IsNoRow(err):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return 1, nil
}

// describe gives the address without its query, which may hold secrets, and the endpoint: scheme, host and port.
func describe(raw string) (shown, endpoint string) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", ""
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath(), u.Scheme + "://" + u.Host
}
