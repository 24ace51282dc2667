package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// assistants is the specification's section Tool server (MCP): what internal/mcp shows as tools. Each question is
// recorded before it is answered.
type assistants struct {
	callwrightv1.UnimplementedAssistantServiceServer
	db *store.DB
}

var callSorts = textsOf[callwrightv1.CallSort]()

// Bounds of the tools' lists. spec: Limits, Tool list page size.
const (
	toolLimit     = 20
	maxToolLimit  = 200
	maxToolOffset = 1_000_000
)

// toolPage is the page that a tool's list asks for. Unlike other lists it refuses what is out of bounds.
func toolPage(offset int32, limit *int32) (int, int, error) {
	n := toolLimit
	if limit != nil {
		n = int(*limit)
	}
	switch {
	case offset < 0 || offset > maxToolOffset:
		return 0, 0, fault.Invalidf("offset must be 0 to %d", maxToolOffset)
	case n < 1 || n > maxToolLimit:
		return 0, 0, fault.Invalidf("limit must be 1 to %d", maxToolLimit)
	}
	return int(offset), n, nil
}

// spec: Tool server, list_agents.
func (s *assistants) FindAgents(ctx context.Context, in *callwrightv1.FindAgentsRequest) (*callwrightv1.FindAgentsResponse, error) {
	offset, limit, err := toolPage(in.GetOffset(), in.Limit)
	if err != nil {
		return nil, err
	}
	sort, err := agentSorts.read("sort", in.GetSort())
	if err != nil {
		return nil, err
	}
	if err := identity.NoteToolAccess(from(ctx), s.db.Ent(), "list_agents", ""); err != nil {
		return nil, err
	}
	page, err := agent.List(ctx, s.db.Ent(), agent.Query{
		Offset: offset, Limit: &limit, Q: in.GetQ(), Status: in.GetStatus(), Modality: in.GetModality(),
		Language: in.GetLanguage(), Sort: sort,
	})
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.FindAgentsResponse{Total: int64(page.Total)}
	out.Agents, err = encodeAgents(page.Agents)
	return out, err
}

// spec: Tool server, get_agent.
func (s *assistants) ReadAgent(ctx context.Context, in *callwrightv1.ReadAgentRequest) (*callwrightv1.ReadAgentResponse, error) {
	id, err := parseID("agent_id", in.GetAgentId())
	if err != nil {
		return nil, err
	}
	if err := identity.NoteToolAccess(from(ctx), s.db.Ent(), "get_agent", id.String()); err != nil {
		return nil, err
	}
	a, err := agent.Get(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	data, err := encodeAgent(a)
	return &callwrightv1.ReadAgentResponse{Agent: data}, err
}

// spec: Tool server, list_calls.
func (s *assistants) FindCalls(ctx context.Context, in *callwrightv1.FindCallsRequest) (*callwrightv1.FindCallsResponse, error) {
	q, err := decodeSearch(in)
	if err != nil {
		return nil, err
	}
	if err := identity.NoteToolAccess(from(ctx), s.db.Ent(), "list_calls", ""); err != nil {
		return nil, err
	}
	rows, total, err := call.Find(ctx, s.db.Ent(), q)
	if err != nil {
		return nil, err
	}
	calls, err := s.encode(ctx, rows...)
	return &callwrightv1.FindCallsResponse{Calls: calls, Total: total}, err
}

// spec: Tool server, get_call.
func (s *assistants) ReadCall(ctx context.Context, in *callwrightv1.ReadCallRequest) (*callwrightv1.ReadCallResponse, error) {
	id, err := parseID("call_id", in.GetCallId())
	if err != nil {
		return nil, err
	}
	if err := identity.NoteToolAccess(from(ctx), s.db.Ent(), "get_call", id.String()); err != nil {
		return nil, err
	}
	row, err := call.Get(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	turns, err := call.Turns(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	calls, err := s.encode(ctx, row)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.ReadCallResponse{Call: withEnding(calls[0], row, call.Transcript(turns))}, nil
}

// ListToolAccesses is GET /v1/tool-accesses, ours: who asked the tool server what.
func (s *assistants) ListToolAccesses(ctx context.Context, in *callwrightv1.ListToolAccessesRequest) (*callwrightv1.ListToolAccessesResponse, error) {
	page, err := identity.ListToolAccesses(ctx, s.db.Ent(), int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListToolAccessesResponse{Pagination: pageOf(page)}
	for _, a := range page.Rows {
		out.Data = append(out.Data, &callwrightv1.ToolAccess{
			Id: a.ID.String(), CreatedAt: timestamppb.New(a.CreatedAt), KeyId: optionalID(a.KeyID), UserId: optionalID(a.UserID),
			Tool: a.Tool, SubjectId: text(a.Subject), ClientAddress: a.Address,
		})
	}
	return out, nil
}

func decodeSearch(in *callwrightv1.FindCallsRequest) (q call.Search, err error) {
	if q.Offset, q.Limit, err = toolPage(in.GetOffset(), in.Limit); err != nil {
		return q, err
	}
	if q.AgentID, err = parseFilterID("agent_id", in.GetAgentId()); err != nil {
		return q, err
	}
	if q.ContactID, err = parseFilterID("contact_id", in.GetContactId()); err != nil {
		return q, err
	}
	if q.CampaignID, err = parseFilterID("campaign_id", in.GetCampaignId()); err != nil {
		return q, err
	}
	if q.Status, err = callStatuses.read("status", in.GetStatus()); err != nil {
		return q, err
	}
	if q.Direction, err = directions.read("direction", in.GetDirection()); err != nil {
		return q, err
	}
	if q.AnsweredBy, err = answerers.read("answered_by", in.GetAnsweredBy()); err != nil {
		return q, err
	}
	if _, err = callSorts.read("sort", in.GetSort()); err != nil {
		return q, err
	}
	q.From, q.To, q.ToNumber, q.FromNumber = in.GetFromDate(), in.GetToDate(), in.GetToNumber(), in.GetFromNumber()
	q.MinDuration, q.MaxDuration = optionalInt(in.MinDuration), optionalInt(in.MaxDuration)
	q.IncludeTest = in.GetIncludeTest()
	q.OldestFirst = in.GetSort() == callwrightv1.CallSort_CALL_SORT_CREATED_AT_ASC
	return q, nil
}

// encode adds the summaries of a page in one query, and says where content is withheld.
func (s *assistants) encode(ctx context.Context, rows ...*ent.Call) ([]*callwrightv1.AssistantCall, error) {
	redacted, err := call.RedactionsOf(ctx, s.db.Ent(), rows...)
	if err != nil {
		return nil, err
	}
	summaries, err := analysis.Summaries(ctx, s.db.Ent(), redacted, rows...)
	if err != nil {
		return nil, err
	}
	var out []*callwrightv1.AssistantCall
	for _, c := range rows {
		a := &callwrightv1.AssistantCall{
			Id: c.ID.String(), Status: callStatuses.number(c.Status), Direction: directions.number(c.Direction), To: c.ToNumber,
			From: c.FromNumber, Duration: optionalInt32(c.Duration), AnsweredBy: answerers.optional(c.AnsweredBy),
			Summary: text(summaries[c.ID]), CreatedAt: timestamppb.New(c.CreatedAt), AgentId: optionalID(c.AgentID),
			ContactId: optionalID(c.ContactID), CampaignId: optionalID(c.CampaignID), ScheduleTime: optionalTime(c.ScheduleTime),
		}
		if why := redacted[c.ID]; why != "" {
			yes := true
			a.ContentRedacted, a.RedactionReason = &yes, &why
		}
		out = append(out, a)
	}
	return out, nil
}

// withEnding adds what is shown of a single call only.
func withEnding(a *callwrightv1.AssistantCall, c *ent.Call, transcript string) *callwrightv1.AssistantCall {
	a.Transcript = text(transcript)
	a.EndedReason, a.EndedMessage, a.RetryAfter = c.EndedReason, c.EndedMessage, optionalTime(c.RetryAfter)
	return a
}
