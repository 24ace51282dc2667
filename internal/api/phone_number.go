package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/store"
)

// phoneNumbers is CONTRACT.md §3, /v1/phone-numbers.
type phoneNumbers struct {
	callwrightv1.UnimplementedPhoneNumberServiceServer
	db *store.DB
}

func (s *phoneNumbers) CreatePhoneNumber(ctx context.Context, in *callwrightv1.CreatePhoneNumberRequest) (*callwrightv1.CreatePhoneNumberResponse, error) {
	number, err := decodeNumber(in.GetPhoneNumber())
	if err != nil {
		return nil, err
	}
	n, err := agent.CreateNumber(ctx, s.db, number)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.CreatePhoneNumberResponse{Data: encodeNumber(n)}, nil
}

func (s *phoneNumbers) ListPhoneNumbers(ctx context.Context, in *callwrightv1.ListPhoneNumbersRequest) (*callwrightv1.ListPhoneNumbersResponse, error) {
	agentID, err := parseFilterID("agent_id", in.GetAgentId())
	if err != nil {
		return nil, err
	}
	page, err := agent.ListNumbers(ctx, s.db.Ent(), agent.NumberQuery{
		Offset:  int(in.GetOffset()),
		Limit:   optionalInt(in.Limit),
		AgentID: agentID,
	})
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListPhoneNumbersResponse{Pagination: pagination(page.Offset, page.Limit, len(page.Numbers), page.Total)}
	for _, n := range page.Numbers {
		out.Data = append(out.Data, encodeNumber(n))
	}
	return out, nil
}

func (s *phoneNumbers) GetPhoneNumber(ctx context.Context, in *callwrightv1.GetPhoneNumberRequest) (*callwrightv1.GetPhoneNumberResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	n, err := agent.GetNumber(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetPhoneNumberResponse{Data: encodeNumber(n)}, nil
}

func (s *phoneNumbers) UpdatePhoneNumber(ctx context.Context, in *callwrightv1.UpdatePhoneNumberRequest) (*callwrightv1.UpdatePhoneNumberResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	number, err := decodeNumber(in.GetPhoneNumber())
	if err != nil {
		return nil, err
	}
	n, err := agent.UpdateNumber(ctx, s.db, id, number, in.GetPhoneNumber().GetClear())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.UpdatePhoneNumberResponse{Data: encodeNumber(n)}, nil
}

func (s *phoneNumbers) DeletePhoneNumber(ctx context.Context, in *callwrightv1.DeletePhoneNumberRequest) (*callwrightv1.DeletePhoneNumberResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	if err := agent.DeleteNumber(ctx, s.db, id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeletePhoneNumberResponse{Data: deleted(id)}, nil
}

func decodeNumber(in *callwrightv1.PhoneNumber) (agent.Number, error) {
	if in == nil {
		in = &callwrightv1.PhoneNumber{}
	}
	n := agent.Number{Number: in.Number, Label: in.Label, Inbound: in.Inbound, Outbound: in.Outbound}
	if in.AgentId != nil {
		id, err := parseID("agent_id", in.GetAgentId())
		if err != nil {
			return n, err
		}
		n.AgentID = &id
	}
	return n, nil
}

func encodeNumber(n *ent.PhoneNumber) *callwrightv1.PhoneNumber {
	return &callwrightv1.PhoneNumber{
		Id:          n.ID.String(),
		WorkspaceId: n.WorkspaceID.String(),
		CreatedAt:   timestamppb.New(n.CreatedAt),
		UpdatedAt:   timestamppb.New(n.UpdatedAt),
		Number:      &n.Number,
		Label:       n.Label,
		AgentId:     optionalID(n.AgentID),
		Inbound:     &n.Inbound,
		Outbound:    &n.Outbound,
	}
}
