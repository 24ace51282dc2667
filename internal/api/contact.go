package api

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/store"
)

// contacts is the specification's section Contacts.
type contacts struct {
	callwrightv1.UnimplementedContactServiceServer
	db *store.DB
}

func (s *contacts) CreateContact(ctx context.Context, in *callwrightv1.CreateContactRequest) (*callwrightv1.CreateContactResponse, error) {
	c, warnings, err := contact.Create(ctx, s.db, contact.Input{
		FirstName: in.FirstName, LastName: in.LastName, Email: in.Email, Notes: in.AdditionalNotes, Phone: &in.Phone,
		Status: in.Status, CustomFields: json.RawMessage(in.GetCustomFields()),
	})
	if err != nil {
		return nil, err
	}
	return &callwrightv1.CreateContactResponse{Data: encodeContact(c), CustomFieldWarnings: encodeWarnings(warnings)}, nil
}

func (s *contacts) ListContacts(ctx context.Context, in *callwrightv1.ListContactsRequest) (*callwrightv1.ListContactsResponse, error) {
	page, err := contact.List(ctx, s.db.Ent(), contact.Query{
		Skip: int(in.GetSkip()), Take: optionalInt(in.Take), Where: in.GetWhere(), OrderBy: in.GetOrderBy(),
	})
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListContactsResponse{TotalRecords: int64(page.Total), CurrentPage: int32(page.CurrentPage)}
	for _, c := range page.Contacts {
		out.Contacts = append(out.Contacts, encodeContact(c))
	}
	return out, nil
}

func (s *contacts) GetContact(ctx context.Context, in *callwrightv1.GetContactRequest) (*callwrightv1.GetContactResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	c, err := contact.Get(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetContactResponse{Contact: encodeContact(c)}, nil
}

func (s *contacts) UpdateContact(ctx context.Context, in *callwrightv1.UpdateContactRequest) (*callwrightv1.UpdateContactResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	c, warnings, err := contact.Update(ctx, s.db, id, contact.Input{
		FirstName: in.FirstName, LastName: in.LastName, Email: in.Email, Notes: in.AdditionalNotes, Phone: in.Phone,
		Status: in.Status, CustomFields: json.RawMessage(in.GetCustomFields()), Clear: in.GetClear(),
	})
	if err != nil {
		return nil, err
	}
	return &callwrightv1.UpdateContactResponse{Data: encodeContact(c), CustomFieldWarnings: encodeWarnings(warnings)}, nil
}

func (s *contacts) DeleteContact(ctx context.Context, in *callwrightv1.DeleteContactRequest) (*callwrightv1.DeleteContactResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	if err := contact.Delete(ctx, s.db, id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteContactResponse{Message: "Contact deleted"}, nil
}

func encodeContact(c *ent.Contact) *callwrightv1.Contact {
	return &callwrightv1.Contact{
		Id: c.ID.String(), FirstName: c.FirstName, LastName: c.LastName, Phone: c.Phone, Email: c.Email,
		AdditionalNotes: c.AdditionalNotes, Status: c.Status, CustomFields: string(c.CustomFields),
		CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt), WorkspaceId: c.WorkspaceID.String(),
	}
}

func encodeWarnings(warnings []contact.Warning) []*callwrightv1.CustomFieldWarning {
	var out []*callwrightv1.CustomFieldWarning
	for _, w := range warnings {
		out = append(out, &callwrightv1.CustomFieldWarning{Key: w.Key, Code: string(w.Code), Message: w.Message})
	}
	return out
}
