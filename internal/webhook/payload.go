package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/contact"
)

// PayloadVersion is the version of the body. Fields are only ever added to it. spec: Versioning.
const PayloadVersion = "1.1"

// Texts that stand for what is not there. spec: Body.
const (
	noTranscript = "No transcript available"
	noSummary    = "No summary available"
)

// payload is the body, in the order of the specification. Changing or dropping a member breaks receivers: the golden test
// says which.
type payload struct {
	PayloadVersion      string            `json:"payload_version"`
	CallID              string            `json:"call_id"`
	Direction           string            `json:"direction"`
	CallStatus          string            `json:"call_status"`
	Transcript          string            `json:"transcript"`
	TranscriptObject    []entry           `json:"transcript_object"`
	Duration            *int              `json:"duration"`
	CallFrom            *string           `json:"call_from"`
	CallTo              *string           `json:"call_to"`
	AgentID             *string           `json:"agent_id"`
	Summary             string            `json:"summary"`
	Contacts            []person          `json:"contacts"`
	Variables           map[string]string `json:"variables,omitempty"`
	PersonalizedSummary json.RawMessage   `json:"personalized_call_summary"`
	CallTags            json.RawMessage   `json:"call_tags"`
	ExtractedFields     json.RawMessage   `json:"extracted_fields"`
}

type entry struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Milliseconds after the answer; extra keys that receivers may ignore.
	StartMS int `json:"start_ms"`
	EndMS   int `json:"end_ms"`
}

type person struct {
	ID           string          `json:"id"`
	Email        *string         `json:"email"`
	Phone        string          `json:"phone"`
	FirstName    *string         `json:"first_name"`
	LastName     *string         `json:"last_name"`
	CustomFields json.RawMessage `json:"custom_fields"`
}

var (
	jsonNull = json.RawMessage("null")
	jsonList = json.RawMessage("[]")
)

// build makes the body of a call from the records as they stand now. Content that is withheld from everybody is withheld
// here too, unless the action asks for it. CONTRACT.md §2, HIPAA workspaces.
func build(ctx context.Context, c *ent.Client, row *ent.Call, includePHI bool) ([]byte, error) {
	p := payload{
		PayloadVersion: PayloadVersion, CallID: row.ID.String(), Direction: row.Direction, CallStatus: row.Status,
		Transcript: noTranscript, TranscriptObject: []entry{}, Duration: row.Duration, CallFrom: text(row.FromNumber),
		CallTo: text(row.ToNumber), Summary: noSummary, Contacts: []person{}, PersonalizedSummary: jsonNull,
		CallTags: jsonList, ExtractedFields: jsonList,
	}
	if row.AgentID != nil {
		p.AgentID = text(row.AgentID.String())
	}
	if row.Direction == "outbound" {
		p.Variables = row.Variables
	}
	redacted, err := call.Redaction(ctx, c, row.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if redacted == "" || includePHI {
		if err := p.fill(ctx, c, row); err != nil {
			return nil, fmt.Errorf("payload of call %s: %w", row.ID, err)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(p)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// fill adds what was said and concluded, and the people on the far side.
func (p *payload) fill(ctx context.Context, c *ent.Client, row *ent.Call) error {
	turns, err := call.Turns(ctx, c, row.ID)
	if err != nil {
		return err
	}
	for _, t := range turns {
		p.TranscriptObject = append(p.TranscriptObject, entry{Role: t.Role, Content: t.Content, StartMS: t.StartMs, EndMS: t.EndMs})
	}
	if said := call.Transcript(turns); said != "" {
		p.Transcript = said
	}
	concluded, err := analysis.Of(ctx, c, row.ID)
	if err != nil {
		return err
	}
	if concluded != nil {
		if concluded.Summary != nil && *concluded.Summary != "" {
			p.Summary = *concluded.Summary
		}
		p.PersonalizedSummary = orElse(concluded.Personalized, jsonNull)
		p.CallTags = orElse(concluded.Checks, jsonList)
		p.ExtractedFields = orElse(concluded.Extracted, jsonList)
	}
	far := row.ToNumber
	if row.Direction == "inbound" {
		far = row.FromNumber
	}
	people, err := contact.ByPhone(ctx, c, far)
	if err != nil {
		return err
	}
	for _, who := range people {
		p.Contacts = append(p.Contacts, person{
			ID: who.ID.String(), Email: who.Email, Phone: who.Phone, FirstName: who.FirstName, LastName: who.LastName,
			CustomFields: orElse(who.CustomFields, json.RawMessage("{}")),
		})
	}
	return nil
}

func orElse(raw, otherwise json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return otherwise
	}
	return raw
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
