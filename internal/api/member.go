package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
)

func (s *people) ListMembers(ctx context.Context, in *callwrightv1.ListMembersRequest) (*callwrightv1.ListMembersResponse, error) {
	page, err := s.identity.ListMembers(ctx, int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	w, err := identity.GetWorkspace(ctx, s.db.Ent())
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListMembersResponse{Pagination: pageOf(page)}
	for _, u := range page.Rows {
		out.Members = append(out.Members, encodePerson(u, w.Name))
	}
	return out, nil
}

func (s *people) InviteMember(ctx context.Context, in *callwrightv1.InviteMemberRequest) (*callwrightv1.InviteMemberResponse, error) {
	row, token, err := s.identity.Invite(from(ctx), in.GetEmail(), in.GetRole())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.InviteMemberResponse{Invite: encodeInvite(row), Token: token}, nil
}

func (s *people) ListInvites(ctx context.Context, in *callwrightv1.ListInvitesRequest) (*callwrightv1.ListInvitesResponse, error) {
	page, err := s.identity.ListInvites(ctx, int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListInvitesResponse{Pagination: pageOf(page)}
	for _, row := range page.Rows {
		out.Invites = append(out.Invites, encodeInvite(row))
	}
	return out, nil
}

func (s *people) DeleteInvite(ctx context.Context, in *callwrightv1.DeleteInviteRequest) (*callwrightv1.DeleteInviteResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	if err := s.identity.DeleteInvite(from(ctx), id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteInviteResponse{Data: deleted(id)}, nil
}

func (s *people) ChangeRole(ctx context.Context, in *callwrightv1.ChangeRoleRequest) (*callwrightv1.ChangeRoleResponse, error) {
	id, err := parseID("user_id", in.GetUserId())
	if err != nil {
		return nil, err
	}
	u, err := s.identity.ChangeRole(from(ctx), id, in.GetRole())
	if err != nil {
		return nil, err
	}
	w, err := identity.GetWorkspace(ctx, s.db.Ent())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.ChangeRoleResponse{Member: encodePerson(u, w.Name)}, nil
}

func (s *people) RemoveMember(ctx context.Context, in *callwrightv1.RemoveMemberRequest) (*callwrightv1.RemoveMemberResponse, error) {
	id, err := parseID("user_id", in.GetUserId())
	if err != nil {
		return nil, err
	}
	if err := s.identity.RemoveMember(from(ctx), id); err != nil {
		return nil, err
	}
	return &callwrightv1.RemoveMemberResponse{Data: deleted(id)}, nil
}

func (s *people) ListAudit(ctx context.Context, in *callwrightv1.ListAuditRequest) (*callwrightv1.ListAuditResponse, error) {
	page, err := identity.ListAudit(ctx, s.db.Ent(), int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListAuditResponse{Pagination: pageOf(page)}
	for _, row := range page.Rows {
		out.Entries = append(out.Entries, encodeEntry(row))
	}
	return out, nil
}

func encodeInvite(row *ent.Link) *callwrightv1.Invite {
	return &callwrightv1.Invite{
		Id:        row.ID.String(),
		Email:     row.Email,
		Role:      row.Role,
		CreatedAt: timestamppb.New(row.CreatedAt),
		ExpiresAt: timestamppb.New(row.ExpiresAt),
	}
}

func encodeEntry(row *ent.AuditEntry) *callwrightv1.AuditEntry {
	return &callwrightv1.AuditEntry{
		Id:            row.ID.String(),
		CreatedAt:     timestamppb.New(row.CreatedAt),
		Action:        row.Action,
		UserId:        optionalID(row.UserID),
		Actor:         row.Actor,
		Subject:       row.Subject,
		Detail:        row.Detail,
		ClientAddress: row.Address,
	}
}
