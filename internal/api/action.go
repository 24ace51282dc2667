package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agent"
)

// actions is CONTRACT.md §3, /v1/agents/{id}/actions.
type actions struct {
	callwrightv1.UnimplementedActionServiceServer
	rules agent.Actions
}

var actionTypes = textsOf[callwrightv1.ActionType]()

func (s *actions) CreateAction(ctx context.Context, in *callwrightv1.CreateActionRequest) (*callwrightv1.CreateActionResponse, error) {
	agentID, err := parseID("agent_id", in.GetAgentId())
	if err != nil {
		return nil, err
	}
	action, err := decodeAction(in.GetAction())
	if err != nil {
		return nil, err
	}
	row, err := s.rules.Create(ctx, agentID, action)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.CreateActionResponse{Data: encodeAction(row)}, nil
}

func (s *actions) ListActions(ctx context.Context, in *callwrightv1.ListActionsRequest) (*callwrightv1.ListActionsResponse, error) {
	agentID, err := parseID("agent_id", in.GetAgentId())
	if err != nil {
		return nil, err
	}
	page, err := s.rules.List(ctx, agentID, int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListActionsResponse{Pagination: pageOf(page)}
	for _, row := range page.Rows {
		out.Data = append(out.Data, encodeAction(row))
	}
	return out, nil
}

func (s *actions) GetAction(ctx context.Context, in *callwrightv1.GetActionRequest) (*callwrightv1.GetActionResponse, error) {
	agentID, id, err := actionIDs(in.GetAgentId(), in.GetId())
	if err != nil {
		return nil, err
	}
	row, err := s.rules.Get(ctx, agentID, id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetActionResponse{Data: encodeAction(row)}, nil
}

func (s *actions) UpdateAction(ctx context.Context, in *callwrightv1.UpdateActionRequest) (*callwrightv1.UpdateActionResponse, error) {
	agentID, id, err := actionIDs(in.GetAgentId(), in.GetId())
	if err != nil {
		return nil, err
	}
	action, err := decodeAction(in.GetAction())
	if err != nil {
		return nil, err
	}
	row, err := s.rules.Update(ctx, agentID, id, action)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.UpdateActionResponse{Data: encodeAction(row)}, nil
}

func (s *actions) DeleteAction(ctx context.Context, in *callwrightv1.DeleteActionRequest) (*callwrightv1.DeleteActionResponse, error) {
	agentID, id, err := actionIDs(in.GetAgentId(), in.GetId())
	if err != nil {
		return nil, err
	}
	if err := s.rules.Delete(ctx, agentID, id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteActionResponse{Data: deleted(id)}, nil
}

func actionIDs(agentText, text string) (agentID, id uuid.UUID, err error) {
	if agentID, err = parseID("agent_id", agentText); err != nil {
		return agentID, id, err
	}
	id, err = parseID("id", text)
	return agentID, id, err
}

func decodeAction(a *callwrightv1.Action) (agent.Action, error) {
	kind, err := actionTypes.read("type", a.GetType())
	if err != nil || a == nil {
		return agent.Action{}, err
	}
	return agent.Action{
		Type: kind, Name: a.Name, URL: a.Url, Prompt: a.Prompt, Icon: a.Icon, Criteria: a.Criteria, Format: a.Format,
		Description: a.Description, IncludePHI: a.IncludePhi, Headers: a.GetHeaders(), Clear: a.GetClear(),
	}, nil
}

// encodeAction shows the fields of the action's type. Header values stay where they are: a mask stands for each.
func encodeAction(a *ent.Action) *callwrightv1.Action {
	out := &callwrightv1.Action{
		Id: a.ID.String(), WorkspaceId: a.WorkspaceID.String(), AgentId: a.AgentID.String(),
		CreatedAt: timestamppb.New(a.CreatedAt), UpdatedAt: timestamppb.New(a.UpdatedAt), Type: actionTypes.number(a.Type),
		Name: &a.Name, Key: a.Key,
	}
	switch a.Type {
	case agent.ActionWebhook:
		out.Url, out.IncludePhi, out.Headers = &a.URL, &a.IncludePhi, map[string]string{}
		for _, name := range a.HeaderNames {
			out.Headers[name] = agent.Masked
		}
	case agent.ActionSummary:
		out.Prompt = &a.Prompt
	case agent.ActionSuccessCheck:
		out.Icon, out.Criteria = text(a.Icon), &a.Criteria
	case agent.ActionExtractData:
		out.Format, out.Description = &a.Format, &a.Description
	}
	return out
}

// text is nil for a text without content.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
