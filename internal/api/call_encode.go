package api

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/call"
)

var (
	callStatuses = textsOf[callwrightv1.CallStatus]()
	directions   = textsOf[callwrightv1.Direction]()
	answerers    = textsOf[callwrightv1.AnsweredBy]()
	latencies    = twinsOf[callwrightv1.CallLatency, call.Latency]()
	timings      = twinsOf[callwrightv1.TurnTiming, call.TurnTiming]()
)

func encodeCall(c *ent.Call) *callwrightv1.Call {
	out := &callwrightv1.Call{
		Id:           c.ID.String(),
		CreatedAt:    timestamppb.New(c.CreatedAt),
		To:           c.ToNumber,
		From:         c.FromNumber,
		Status:       callStatuses.number(c.Status),
		Duration:     optionalInt32(c.Duration),
		Direction:    directions.number(c.Direction),
		Metadata:     c.Metadata,
		WorkspaceId:  c.WorkspaceID.String(),
		AgentId:      optionalID(c.AgentID),
		ContactId:    optionalID(c.ContactID),
		CampaignId:   optionalID(c.CampaignID),
		Test:         c.Test,
		AnsweredBy:   answerers.optional(c.AnsweredBy),
		EndedReason:  c.EndedReason,
		EndedMessage: c.EndedMessage,
		RetryAfter:   optionalTime(c.RetryAfter),
		ScheduleTime: optionalTime(c.ScheduleTime),
	}
	if call.Fetchable(c) {
		path := "/v1/call/" + out.Id + "/recording"
		out.RecordingUrl = &path
	}
	return out
}

// encodeCallDetail shows a call with what may be shown of its content; redacted says why it is less than there was.
func encodeCallDetail(c *ent.Call, turns []*ent.Turn, a *ent.CallAnalysis, redacted string) (*callwrightv1.CallDetail, error) {
	out := &callwrightv1.CallDetail{
		Analysis:         encodeAnalysis(a),
		ContentRedacted:  redacted != "",
		RedactionReason:  text(redacted),
		ContentDeletedAt: optionalTime(c.ErasedAt),

		Call:       encodeCall(c),
		Transcript: call.Transcript(turns),
		Variables:  c.Variables,
		DialedAt:   optionalTime(c.DialedAt),
		AnsweredAt: optionalTime(c.AnsweredAt),
		EndedAt:    optionalTime(c.EndedAt),

		AnsweredByReason: c.AnsweredByReason,
		RecordingConsent: c.RecordingConsent,
	}
	for _, t := range turns {
		turn, err := encodeTurn(t)
		if err != nil {
			return nil, err
		}
		out.TranscriptObject = append(out.TranscriptObject, turn)
	}
	if len(c.Latency) == 0 {
		return out, nil
	}
	var l call.Latency
	if err := json.Unmarshal(c.Latency, &l); err != nil {
		return nil, fmt.Errorf("read the latency of call %s: %w", c.ID, err)
	}
	out.Latency = &callwrightv1.CallLatency{}
	latencies.fill(out.Latency, &l)
	return out, nil
}

func encodeTurn(t *ent.Turn) (*callwrightv1.Turn, error) {
	out := &callwrightv1.Turn{
		Role: t.Role, Content: t.Content, StartMs: int32(t.StartMs), EndMs: int32(t.EndMs), Interrupted: t.Interrupted,
	}
	if len(t.Timing) == 0 {
		return out, nil
	}
	var timing call.TurnTiming
	if err := json.Unmarshal(t.Timing, &timing); err != nil {
		return nil, fmt.Errorf("read the timing of turn %s: %w", t.ID, err)
	}
	out.Timing = &callwrightv1.TurnTiming{}
	timings.fill(out.Timing, &timing)
	return out, nil
}

func encodeAnalysis(a *ent.CallAnalysis) *callwrightv1.CallAnalysis {
	if a == nil {
		return nil
	}
	return &callwrightv1.CallAnalysis{
		Summary:                 a.Summary,
		PersonalizedCallSummary: rawOr(a.Personalized, "null"),
		CallTags:                rawOr(a.Checks, "[]"),
		ExtractedFields:         rawOr(a.Extracted, "[]"),
		CallTagId:               optionalID(a.CallTagID),
		Source:                  a.Source,
		Problem:                 text(a.Problem),
		AnalyzedAt:              optionalTime(a.AnalyzedAt),
	}
}

func rawOr(raw json.RawMessage, otherwise string) string {
	if len(raw) == 0 {
		return otherwise
	}
	return string(raw)
}
