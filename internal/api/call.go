package api

import (
	"context"
	"encoding/json"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
)

type calls struct {
	callwrightv1.UnimplementedCallServiceServer
	db         *store.DB
	line       call.Line
	recordings *call.Recordings
}

// spec: Calls, POST /call.
func (s *calls) PlaceCall(ctx context.Context, in *callwrightv1.PlaceCallRequest) (*callwrightv1.PlaceCallResponse, error) {
	agentID, err := parseID("agent_id", in.GetAgentId())
	if err != nil {
		return nil, err
	}
	c, err := call.Place(ctx, s.db, call.Request{
		To:        in.GetTo(),
		AgentID:   agentID,
		Variables: in.GetVariables(),
		Metadata:  json.RawMessage(in.GetMetadata()),
		Test:      in.GetTest(),
		Line:      s.line,
	})
	if err != nil {
		return nil, err
	}
	return &callwrightv1.PlaceCallResponse{Data: &callwrightv1.PlacedCall{Status: "Queued", CallId: c.ID.String()}}, nil
}

// spec: Calls, GET /call.
func (s *calls) ListCalls(ctx context.Context, in *callwrightv1.ListCallsRequest) (*callwrightv1.ListCallsResponse, error) {
	page, err := call.List(ctx, s.db.Ent(), call.Query{
		Skip:    int(in.GetSkip()),
		Take:    optionalInt(in.Take),
		Where:   in.GetWhere(),
		OrderBy: in.GetOrderBy(),
	})
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListCallsResponse{TotalRecords: page.Total, CurrentPage: int32(page.CurrentPage)}
	for _, c := range page.Calls {
		out.Calls = append(out.Calls, encodeCall(c))
	}
	return out, nil
}

// spec: Calls, GET /call/{id}.
func (s *calls) GetCall(ctx context.Context, in *callwrightv1.GetCallRequest) (*callwrightv1.GetCallResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	c, err := call.Get(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetCallResponse{Call: encodeCall(c)}, nil
}

// CONTRACT.md §3, /v1/calls/{id}.
func (s *calls) GetCallDetail(ctx context.Context, in *callwrightv1.GetCallDetailRequest) (*callwrightv1.GetCallDetailResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	c, err := call.Get(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	turns, err := call.Turns(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	concluded, err := analysis.Of(ctx, s.db.Ent(), c)
	if err != nil {
		return nil, err
	}
	redacted, err := call.Redaction(ctx, s.db.Ent(), c)
	if err != nil {
		return nil, err
	}
	data, err := encodeCallDetail(c, turns, concluded, redacted)
	return &callwrightv1.GetCallDetailResponse{Data: data}, err
}

// CONTRACT.md §3, /v1/calls/{id}/cancel.
func (s *calls) CancelCall(ctx context.Context, in *callwrightv1.CancelCallRequest) (*callwrightv1.CancelCallResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	c, err := call.Cancel(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.CancelCallResponse{Data: encodeCall(c)}, nil
}

// spec: Calls, DELETE /call/{id}.
func (s *calls) DeleteCall(ctx context.Context, in *callwrightv1.DeleteCallRequest) (*callwrightv1.DeleteCallResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	if err := call.Delete(ctx, s.db, s.recordings, id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteCallResponse{Message: "The call was deleted."}, nil
}
