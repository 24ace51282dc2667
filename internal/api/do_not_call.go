package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// doNotCall is CONTRACT.md §3, /v1/do-not-call.
type doNotCall struct {
	callwrightv1.UnimplementedDoNotCallServiceServer
	db *store.DB
}

func (s *doNotCall) CreateDoNotCall(ctx context.Context, in *callwrightv1.CreateDoNotCallRequest) (*callwrightv1.CreateDoNotCallResponse, error) {
	row, created, err := policy.Forbid(ctx, s.db, in.GetPhone(), in.Reason)
	if err != nil {
		return nil, err
	}
	data := encodeDoNotCall(row)
	data.Created = &created
	return &callwrightv1.CreateDoNotCallResponse{Data: data}, nil
}

func (s *doNotCall) ListDoNotCall(ctx context.Context, in *callwrightv1.ListDoNotCallRequest) (*callwrightv1.ListDoNotCallResponse, error) {
	page, err := policy.Forbidden(ctx, s.db.Ent(), in.GetPhone(), int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListDoNotCallResponse{Pagination: pageOf(page)}
	for _, row := range page.Rows {
		out.Data = append(out.Data, encodeDoNotCall(row))
	}
	return out, nil
}

func (s *doNotCall) DeleteDoNotCall(ctx context.Context, in *callwrightv1.DeleteDoNotCallRequest) (*callwrightv1.DeleteDoNotCallResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	if err := policy.Permit(ctx, s.db, id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteDoNotCallResponse{Data: deleted(id)}, nil
}

func encodeDoNotCall(d *ent.DoNotCall) *callwrightv1.DoNotCall {
	return &callwrightv1.DoNotCall{
		Id: d.ID.String(), WorkspaceId: d.WorkspaceID.String(), Phone: d.Phone, Reason: d.Reason,
		CreatedAt: timestamppb.New(d.CreatedAt),
	}
}
