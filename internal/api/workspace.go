package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// workspaces is CONTRACT.md §3, /v1/workspace.
type workspaces struct {
	callwrightv1.UnimplementedWorkspaceServiceServer
	db       *store.DB
	identity *identity.Identity
}

func (s *workspaces) GetWorkspace(ctx context.Context, _ *callwrightv1.GetWorkspaceRequest) (*callwrightv1.GetWorkspaceResponse, error) {
	w, err := identity.GetWorkspace(ctx, s.db.Ent())
	if err != nil {
		return nil, err
	}
	data, err := s.encode(ctx, w)
	return &callwrightv1.GetWorkspaceResponse{Data: data}, err
}

func (s *workspaces) UpdateWorkspace(ctx context.Context, in *callwrightv1.UpdateWorkspaceRequest) (*callwrightv1.UpdateWorkspaceResponse, error) {
	asked := in.GetWorkspace()
	if asked == nil {
		asked = &callwrightv1.Workspace{}
	}
	w, err := s.identity.UpdateWorkspace(from(ctx), identity.WorkspaceChange{
		Name: asked.Name, Timezone: asked.Timezone, HIPAA: asked.Hipaa, Policy: decodePolicy(asked.GetPolicy()),
	}, asked.GetClear())
	if err != nil {
		return nil, err
	}
	data, err := s.encode(ctx, w)
	return &callwrightv1.UpdateWorkspaceResponse{Data: data}, err
}

func (s *workspaces) encode(ctx context.Context, w *ent.Workspace) (*callwrightv1.Workspace, error) {
	plan, err := identity.PlanOf(ctx, s.db.Ent(), w.ID)
	if err != nil {
		return nil, err
	}
	rules, err := policy.ParseRules(w.Policy)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.Workspace{
		Id:        w.ID.String(),
		CreatedAt: timestamppb.New(w.CreatedAt),
		UpdatedAt: timestamppb.New(w.UpdatedAt),
		Name:      &w.Name,
		Timezone:  &w.Timezone,
		Hipaa:     &w.Hipaa,
		Policy:    encodePolicy(rules),
		Plan:      encodePlan(plan),
	}, nil
}

func encodePlan(p identity.Plan) *callwrightv1.WorkspacePlan {
	out := &callwrightv1.WorkspacePlan{
		Limited: p.Limited, ConcurrentCalls: int32(p.ConcurrentCalls), MaxCallMinutes: int32(p.MaxCallMinutes),
	}
	for _, w := range p.Windows {
		out.Windows = append(out.Windows, &callwrightv1.PlanWindow{Key: w.Key, Limit: int64(w.Limit)})
	}
	return out
}

func encodePolicy(r policy.Rules) *callwrightv1.WorkspacePolicy {
	out := &callwrightv1.WorkspacePolicy{
		AllowedCountries: r.AllowedCountries,
		QuietHours:       &callwrightv1.QuietHours{SingleCalls: r.QuietHours.SingleCalls},
	}
	if r.QuietHours.From != "" {
		out.QuietHours.From = &r.QuietHours.From
	}
	if r.QuietHours.To != "" {
		out.QuietHours.To = &r.QuietHours.To
	}
	if r.CallsPerNumberPerDay != 0 {
		out.CallsPerNumberPerDay = optionalInt32(&r.CallsPerNumberPerDay)
	}
	if r.CallsPerSecond != 0 {
		out.CallsPerSecond = optionalInt32(&r.CallsPerSecond)
	}
	return out
}

func decodePolicy(in *callwrightv1.WorkspacePolicy) *policy.Rules {
	if in == nil {
		return nil
	}
	return &policy.Rules{
		AllowedCountries: in.GetAllowedCountries(),
		QuietHours: policy.QuietHours{
			From: in.GetQuietHours().GetFrom(), To: in.GetQuietHours().GetTo(), SingleCalls: in.GetQuietHours().GetSingleCalls(),
		},
		CallsPerNumberPerDay: explicit(in.CallsPerNumberPerDay),
		CallsPerSecond:       explicit(in.CallsPerSecond),
	}
}

// explicit is a number whose zero is not "absent": a 0 that somebody sent is out of every bound, as it should be.
func explicit(n *int32) int {
	switch {
	case n == nil:
		return 0
	case *n == 0:
		return -1
	}
	return int(*n)
}
