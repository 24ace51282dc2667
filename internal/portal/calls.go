package portal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// callList is what the page of calls shows.
type callList struct {
	Calls   []*callwrightv1.Call
	Names   map[string]string
	AgentID string
	Listed  listed
	Base    string
}

func (p *portal) callsPage(v *visit) error {
	take := int32(pageRows)
	got, err := p.calls.ListCalls(v.ctx, &callwrightv1.ListCallsRequest{Skip: v.offset(), Take: &take})
	if err != nil {
		return err
	}
	l := callList{Calls: got.GetCalls(), Base: p.base(v.r)}
	l.Listed = listed{Offset: int(v.offset()), Limit: pageRows, Rows: len(l.Calls), Total: got.GetTotalRecords()}
	l.Listed.More = int64(l.Listed.Offset+l.Listed.Rows) < l.Listed.Total
	if l.Names, l.AgentID, err = v.names(l.Calls); err != nil {
		return err
	}
	return v.show(http.StatusOK, callsView(v.page("Calls"), l))
}

// told is everything that the page of a call shows.
type told struct {
	Call       *callwrightv1.Call
	Detail     *callwrightv1.CallDetail
	Agent      string
	Names      map[string]string
	Tag        *callwrightv1.CallTag
	Deliveries []*callwrightv1.WebhookDelivery
	Lanes      *lanes // nil without a recording
	Summary    string
	Extracted  []extracted
	Checks     []string
	Now        time.Time
}

// extracted is a value that was found in a call.
type extracted struct{ Name, Value string }

// who names the speaker of a turn.
func (t told) who(turn *callwrightv1.Turn) string {
	switch turn.GetRole() {
	case "agent":
		return t.Agent
	case "user":
		return t.caller()
	}
	return "Tool"
}

// caller is the party that is not the agent.
func (t told) caller() string { return other(t.Call, t.Names) }

// callPage is one call; the path says which.
func (p *portal) callPage(v *visit) error {
	got, err := p.calls.GetCallDetail(v.ctx, &callwrightv1.GetCallDetailRequest{Id: v.id()})
	if err != nil {
		return missing(err)
	}
	t := told{Detail: got.GetData(), Call: got.GetData().GetCall(), Agent: "The agent", Now: p.now()}
	if t.Names, _, err = v.names([]*callwrightv1.Call{t.Call}); err != nil {
		return err
	}
	t.Agent = orText(t.Names[t.Call.GetAgentId()], t.Agent)
	if id := t.Detail.GetAnalysis().GetCallTagId(); id != "" {
		tag, err := p.tags.GetCallTag(v.ctx, &callwrightv1.GetCallTagRequest{Id: id})
		if err != nil && fault.FromStatus(err).Kind != fault.NotFound {
			return err
		}
		t.Tag = tag.GetData()
	}
	limit := int32(20)
	sent, err := p.webhooks.ListWebhookDeliveries(v.ctx, &callwrightv1.ListWebhookDeliveriesRequest{CallId: t.Call.GetId(), Limit: &limit})
	if err != nil {
		return err
	}
	t.Deliveries = sent.GetData()
	t.readAnalysis()
	if t.Call.RecordingUrl != nil {
		if t.Lanes, err = v.lanes(t.Call.GetId()); err != nil {
			return err
		}
	}
	return v.show(http.StatusOK, callView(v.page(t.headline()), t))
}

// missing is a not-found for an id that nobody wrote right: to a reader of pages the same thing.
func missing(err error) error {
	if f := fault.FromStatus(err); f.Kind == fault.Invalid || f.Kind == fault.NotFound {
		return fault.New(fault.NotFound, f.Code, "There is no such call in this workspace.")
	}
	return err
}

func (t told) headline() string { return headline(t.Call, t.Names) }

// readAnalysis reads what was concluded. Its values are JSON of any shape.
func (t *told) readAnalysis() {
	a := t.Detail.GetAnalysis()
	t.Summary = a.GetSummary()
	var fields []struct {
		Name  string
		Value any
	}
	_ = json.Unmarshal([]byte(a.GetExtractedFields()), &fields)
	for _, f := range fields {
		value := "not found"
		if f.Value != nil {
			value = fmt.Sprint(f.Value)
		}
		t.Extracted = append(t.Extracted, extracted{f.Name, value})
	}
	var checks []struct {
		Name, Icon string
		Matched    bool
	}
	_ = json.Unmarshal([]byte(a.GetCallTags()), &checks)
	for _, c := range checks {
		if c.Matched {
			t.Checks = append(t.Checks, strings.TrimSpace(c.Icon+" "+c.Name))
		}
	}
}

// statusText is the status of a call in words.
func statusText(s callwrightv1.CallStatus) string {
	return upperFirst(strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "CALL_STATUS_")), "_", " "))
}

// statusLine is the status with the length of the talk.
func statusLine(c *callwrightv1.Call) string {
	if c.Duration == nil {
		return statusText(c.GetStatus())
	}
	return statusText(c.GetStatus()) + ", " + length(c.GetDuration())
}

// statusTone is the colour of a status: good, bad, live or none.
func statusTone(s callwrightv1.CallStatus) string {
	switch s {
	case callwrightv1.CallStatus_CALL_STATUS_COMPLETED:
		return "good"
	case callwrightv1.CallStatus_CALL_STATUS_FAILED, callwrightv1.CallStatus_CALL_STATUS_BLOCKED:
		return "bad"
	case callwrightv1.CallStatus_CALL_STATUS_DIALING, callwrightv1.CallStatus_CALL_STATUS_IN_PROGRESS:
		return "live"
	}
	return "none"
}

// answeredText is who took a call; empty when nobody did or nobody knows.
func answeredText(c *callwrightv1.Call) string {
	if c.AnsweredBy == nil || c.GetAnsweredBy() == callwrightv1.AnsweredBy_ANSWERED_BY_UNSPECIFIED {
		return ""
	}
	return map[callwrightv1.AnsweredBy]string{
		callwrightv1.AnsweredBy_ANSWERED_BY_HUMAN: "A person", callwrightv1.AnsweredBy_ANSWERED_BY_VOICEMAIL: "Voicemail",
		callwrightv1.AnsweredBy_ANSWERED_BY_IVR: "A voice menu",
	}[c.GetAnsweredBy()]
}

// length is a duration in seconds as people write it.
func length(seconds int32) string {
	if seconds < 60 {
		return fmt.Sprintf("%d s", seconds)
	}
	return fmt.Sprintf("%d min %02d s", seconds/60, seconds%60)
}

// clock is a place in a recording.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

func turnStart(t *callwrightv1.Turn) time.Duration {
	return time.Duration(t.GetStartMs()) * time.Millisecond
}

// party is the number of who is not the agent.
func party(c *callwrightv1.Call) string {
	if c.GetDirection() == callwrightv1.Direction_DIRECTION_INBOUND {
		return c.GetFrom()
	}
	return c.GetTo()
}

// other is who is not the agent: a contact's name, else the number.
func other(c *callwrightv1.Call, names map[string]string) string {
	return orText(names[c.GetContactId()], names[party(c)], party(c), "Somebody")
}

// headline is a call as a sentence: who called whom.
func headline(c *callwrightv1.Call, names map[string]string) string {
	agent := orText(names[c.GetAgentId()], "An agent")
	if c.GetDirection() == callwrightv1.Direction_DIRECTION_INBOUND {
		return other(c, names) + " called " + agent
	}
	return agent + " called " + other(c, names)
}

// deliveryLine says how a delivery stands.
func deliveryLine(d *callwrightv1.WebhookDelivery, now time.Time) string {
	switch d.GetStatus() {
	case callwrightv1.DeliveryStatus_DELIVERY_STATUS_DELIVERED:
		return fmt.Sprintf("Delivered on attempt %d", d.GetAttemptsMade())
	case callwrightv1.DeliveryStatus_DELIVERY_STATUS_ABANDONED:
		return fmt.Sprintf("Given up after %d attempts", d.GetAttemptsMade())
	}
	if d.GetNextAttemptAt() == nil || !d.GetNextAttemptAt().AsTime().After(now) {
		return fmt.Sprintf("Attempt %d of 5, now", d.GetAttemptsMade()+1)
	}
	return fmt.Sprintf("Attempt %d of 5, in %s", d.GetAttemptsMade()+1, span(d.GetNextAttemptAt().AsTime().Sub(now)))
}

// deliveryTone is the colour of a delivery and what its last attempt was answered.
func deliveryTone(d *callwrightv1.WebhookDelivery) (tone, answer string) {
	tone = "none"
	switch d.GetStatus() {
	case callwrightv1.DeliveryStatus_DELIVERY_STATUS_DELIVERED:
		tone = "good"
	case callwrightv1.DeliveryStatus_DELIVERY_STATUS_ABANDONED:
		tone = "bad"
	}
	if n := len(d.GetAttempts()); n > 0 {
		last := d.GetAttempts()[n-1]
		if tone != "good" {
			tone = "bad"
		}
		if last.HttpStatus != nil {
			return tone, fmt.Sprint(last.GetHttpStatus())
		}
		return tone, "no answer"
	}
	return tone, "waiting"
}

func milliseconds(ms int32) string { return fmt.Sprintf("%d ms", ms) }

// turnSeconds is where a turn begins, as a media fragment has it.
func turnSeconds(t *callwrightv1.Turn) string { return fmt.Sprintf("%.1f", turnStart(t).Seconds()) }
