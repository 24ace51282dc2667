package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/callwright/callwright/ent"
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

// build makes the body of a delivery from the records as they stand now. Content that is withheld from everybody is
// withheld here too, unless the action asks for it; phi tells that the body carries such content. CONTRACT.md §2, HIPAA
// workspaces.
func (c *Courier) build(ctx context.Context, d *ent.Delivery, row *ent.Call, includePHI bool) (body []byte, phi bool, err error) {
	db := c.DB.Ent()
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
	redacted, err := call.Redaction(ctx, db, row)
	if err != nil {
		return nil, false, err
	}
	phi = redacted != "" && includePHI
	if redacted == "" || includePHI {
		said, err := carried(ctx, db, c.Actions.Key, d)
		if err != nil {
			return nil, phi, err
		}
		if err := p.fill(ctx, db, row, said); err != nil {
			return nil, phi, fmt.Errorf("payload of call %s: %w", row.ID, err)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(p)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), phi, err
}

// fill adds what was said and concluded, and the people on the far side.
func (p *payload) fill(ctx context.Context, c *ent.Client, row *ent.Call, said content) error {
	p.TranscriptObject = append(p.TranscriptObject, said.Entries...)
	if said.Transcript != "" {
		p.Transcript = said.Transcript
	}
	if said.Summary != nil && *said.Summary != "" {
		p.Summary = *said.Summary
	}
	p.PersonalizedSummary = orElse(said.Personalized, jsonNull)
	p.CallTags = orElse(said.Checks, jsonList)
	p.ExtractedFields = orElse(said.Extracted, jsonList)
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

// orElse is for what has no value: a column that was never written, and one that holds JSON's null.
func orElse(raw, otherwise json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
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
