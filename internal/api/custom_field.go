package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/store"
)

// customFields is CONTRACT.md §3, /v1/custom-fields.
type customFields struct {
	callwrightv1.UnimplementedCustomFieldServiceServer
	db *store.DB
}

func (s *customFields) CreateCustomField(ctx context.Context, in *callwrightv1.CreateCustomFieldRequest) (*callwrightv1.CreateCustomFieldResponse, error) {
	f, err := contact.CreateField(ctx, s.db, decodeField(in.GetCustomField()))
	if err != nil {
		return nil, err
	}
	return &callwrightv1.CreateCustomFieldResponse{Data: encodeField(f)}, nil
}

func (s *customFields) ListCustomFields(ctx context.Context, in *callwrightv1.ListCustomFieldsRequest) (*callwrightv1.ListCustomFieldsResponse, error) {
	page, err := contact.ListFields(ctx, s.db.Ent(), in.Archived, int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListCustomFieldsResponse{Pagination: pageOf(page)}
	for _, f := range page.Rows {
		out.Data = append(out.Data, encodeField(f))
	}
	return out, nil
}

func (s *customFields) GetCustomField(ctx context.Context, in *callwrightv1.GetCustomFieldRequest) (*callwrightv1.GetCustomFieldResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	f, err := contact.GetField(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetCustomFieldResponse{Data: encodeField(f)}, nil
}

func (s *customFields) UpdateCustomField(ctx context.Context, in *callwrightv1.UpdateCustomFieldRequest) (*callwrightv1.UpdateCustomFieldResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	f, err := contact.UpdateField(ctx, s.db, id, decodeField(in.GetCustomField()))
	if err != nil {
		return nil, err
	}
	return &callwrightv1.UpdateCustomFieldResponse{Data: encodeField(f)}, nil
}

func (s *customFields) DeleteCustomField(ctx context.Context, in *callwrightv1.DeleteCustomFieldRequest) (*callwrightv1.DeleteCustomFieldResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	archived, err := contact.DeleteField(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteCustomFieldResponse{Data: &callwrightv1.DeletedCustomField{
		Id: id.String(), Deleted: !archived, Archived: archived,
	}}, nil
}

func decodeField(f *callwrightv1.CustomField) contact.Field {
	if f == nil {
		f = &callwrightv1.CustomField{}
	}
	return contact.Field{
		Key: f.Key, Label: f.Label, Type: f.Type, Options: f.GetOptions(), MaxLength: optionalInt(f.MaxLength),
		Archived: f.Archived, Clear: f.GetClear(),
	}
}

func encodeField(f *ent.CustomField) *callwrightv1.CustomField {
	out := &callwrightv1.CustomField{
		Id: f.ID.String(), WorkspaceId: f.WorkspaceID.String(), CreatedAt: timestamppb.New(f.CreatedAt),
		UpdatedAt: timestamppb.New(f.UpdatedAt), Key: &f.Key, Label: &f.Label, Type: &f.Type, Options: f.Options,
		Archived: &f.Archived,
	}
	if f.MaxLength > 0 {
		out.MaxLength = optionalInt32(&f.MaxLength)
	}
	return out
}
