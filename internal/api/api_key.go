package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// apiKeys is CONTRACT.md §3, /v1/api-keys.
type apiKeys struct {
	callwrightv1.UnimplementedApiKeyServiceServer
	db       *store.DB
	identity *identity.Identity
}

func (s *apiKeys) CreateApiKey(ctx context.Context, in *callwrightv1.CreateApiKeyRequest) (*callwrightv1.CreateApiKeyResponse, error) {
	caller, _ := identity.From(ctx)
	m, err := s.identity.CreateKey(from(ctx), caller.WorkspaceID, identity.NewKey{
		Name: in.GetName(), Scopes: in.GetScopes(), Source: "portal", CreatedBy: caller.UserID,
	})
	if err != nil {
		return nil, err
	}
	data := encodeKey(m.Row)
	data.Secret = m.Secret
	return &callwrightv1.CreateApiKeyResponse{Data: data}, nil
}

func (s *apiKeys) ListApiKeys(ctx context.Context, in *callwrightv1.ListApiKeysRequest) (*callwrightv1.ListApiKeysResponse, error) {
	page, err := identity.ListKeys(ctx, s.db.Ent(), int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListApiKeysResponse{Pagination: pageOf(page)}
	for _, row := range page.Rows {
		out.Data = append(out.Data, encodeKey(row))
	}
	return out, nil
}

func (s *apiKeys) DeleteApiKey(ctx context.Context, in *callwrightv1.DeleteApiKeyRequest) (*callwrightv1.DeleteApiKeyResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	if err := s.identity.DeleteKey(from(ctx), id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteApiKeyResponse{Data: deleted(id)}, nil
}

func encodeKey(row *ent.APIKey) *callwrightv1.ApiKey {
	return &callwrightv1.ApiKey{
		Id:         row.ID.String(),
		CreatedAt:  timestamppb.New(row.CreatedAt),
		Name:       row.Name,
		Scopes:     row.Scopes,
		Hint:       row.Hint,
		Source:     row.Source,
		CreatedBy:  optionalID(row.CreatedBy),
		LastUsedAt: optionalTime(row.LastUsedAt),
	}
}
