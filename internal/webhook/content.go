package webhook

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/secret"
)

// content is what was said and concluded, as bodies carry it. Where it is stored nowhere, a delivery that has to carry it
// all the same keeps it sealed until it is delivered or abandoned.
type content struct {
	Transcript   string          `json:"transcript"`
	Entries      []entry         `json:"entries"`
	Summary      *string         `json:"summary"`
	Personalized json.RawMessage `json:"personalized"`
	Checks       json.RawMessage `json:"checks"`
	Extracted    json.RawMessage `json:"extracted"`
}

func contentOf(from *analysis.Content) content {
	c := content{
		Transcript: call.Transcript(from.Turns), Summary: from.Summary, Personalized: from.Personalized,
		Checks: from.Checks, Extracted: from.Extracted,
	}
	for _, t := range from.Turns {
		c.Entries = append(c.Entries, entry{Role: t.Role, Content: t.Content, StartMS: t.StartMs, EndMS: t.EndMs})
	}
	return c
}

// stored reads the content of a call from the records, whether it is redacted or not.
func stored(ctx context.Context, c *ent.Client, id uuid.UUID) (content, error) {
	turns, err := call.Said(ctx, c, id)
	if err != nil {
		return content{}, err
	}
	concluded, err := analysis.Whole(ctx, c, id)
	if err != nil {
		return content{}, err
	}
	from := analysis.Content{Turns: turns}
	if concluded != nil {
		from.Summary, from.Personalized = concluded.Summary, concluded.Personalized
		from.Checks, from.Extracted = concluded.Checks, concluded.Extracted
	}
	return contentOf(&from), nil
}

func place(workspace, delivery uuid.UUID) secret.Place {
	return secret.Place{Workspace: workspace, Table: "deliveries", Row: delivery, Column: "content"}
}

func (c content) seal(key secret.Key, at secret.Place) ([]byte, error) {
	plain, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write the content of a delivery: %w", err)
	}
	return key.Seal(plain, at), nil
}

// carried is the content of a body whose action asks for it: what the delivery keeps, else what the records hold.
func carried(ctx context.Context, c *ent.Client, key secret.Key, d *ent.Delivery) (content, error) {
	if len(d.Content) == 0 {
		return stored(ctx, c, d.CallID)
	}
	plain, err := key.Open(d.Content, place(d.WorkspaceID, d.ID))
	if err != nil {
		return content{}, fmt.Errorf("open the content of delivery %s: %w", d.ID, err)
	}
	var out content
	if err := json.Unmarshal(plain, &out); err != nil {
		return content{}, fmt.Errorf("read the content of delivery %s: %w", d.ID, err)
	}
	return out, nil
}
