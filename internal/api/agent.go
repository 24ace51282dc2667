package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/store"
)

// agents is CONTRACT.md §3, /v1/agents.
type agents struct {
	callwrightv1.UnimplementedAgentServiceServer
	db *store.DB
}

func (s *agents) CreateAgent(ctx context.Context, in *callwrightv1.CreateAgentRequest) (*callwrightv1.CreateAgentResponse, error) {
	a, err := agent.Create(ctx, s.db, settings.rule(in.GetAgent()))
	if err != nil {
		return nil, err
	}
	data, err := encodeAgent(a)
	return &callwrightv1.CreateAgentResponse{Data: data}, err
}

func (s *agents) ListAgents(ctx context.Context, in *callwrightv1.ListAgentsRequest) (*callwrightv1.ListAgentsResponse, error) {
	sort, err := agentSorts.read("sort", in.GetSort())
	if err != nil {
		return nil, err
	}
	page, err := agent.List(ctx, s.db.Ent(), agent.Query{
		Offset: int(in.GetOffset()),
		Limit:  optionalInt(in.Limit),
		Q:      in.GetQ(),
		Status: in.GetStatus(),
		Sort:   sort,
	})
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListAgentsResponse{Pagination: pagination(page.Offset, page.Limit, len(page.Agents), page.Total)}
	out.Data, err = encodeAgents(page.Agents)
	return out, err
}

func (s *agents) GetAgent(ctx context.Context, in *callwrightv1.GetAgentRequest) (*callwrightv1.GetAgentResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	a, err := agent.Get(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	data, err := encodeAgent(a)
	return &callwrightv1.GetAgentResponse{Data: data}, err
}

func (s *agents) UpdateAgent(ctx context.Context, in *callwrightv1.UpdateAgentRequest) (*callwrightv1.UpdateAgentResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	a, err := agent.Update(ctx, s.db, id, settings.rule(in.GetAgent()), in.GetAgent().GetClear())
	if err != nil {
		return nil, err
	}
	data, err := encodeAgent(a)
	return &callwrightv1.UpdateAgentResponse{Data: data}, err
}

func (s *agents) DeleteAgent(ctx context.Context, in *callwrightv1.DeleteAgentRequest) (*callwrightv1.DeleteAgentResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	if err := agent.Delete(ctx, s.db, id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteAgentResponse{Data: deleted(id)}, nil
}

var (
	settings   = twinsOf[callwrightv1.Agent, agent.Settings]("id", "workspace_id", "created_at", "updated_at", "clear")
	agentSorts = textsOf[callwrightv1.AgentSort]()
)

func encodeAgent(a *ent.Agent) (*callwrightv1.Agent, error) {
	s, err := agent.SettingsOf(a)
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.Agent{
		Id:          a.ID.String(),
		WorkspaceId: a.WorkspaceID.String(),
		CreatedAt:   timestamppb.New(a.CreatedAt),
		UpdatedAt:   timestamppb.New(a.UpdatedAt),
	}
	settings.fill(out, &s)
	return out, nil
}

func encodeAgents(rows []*ent.Agent) ([]*callwrightv1.Agent, error) {
	var out []*callwrightv1.Agent
	for _, a := range rows {
		data, err := encodeAgent(a)
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}
