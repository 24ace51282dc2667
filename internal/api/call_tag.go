package api

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// callTags is the specification's section Call tags.
type callTags struct {
	callwrightv1.UnimplementedCallTagServiceServer
	db *store.DB
}

var tagSorts = textsOf[callwrightv1.CallTagSort]()

func (s *callTags) CreateCallTag(ctx context.Context, in *callwrightv1.CreateCallTagRequest) (*callwrightv1.CreateCallTagResponse, error) {
	caller, _ := identity.From(ctx)
	tag, created, err := analysis.CreateTag(ctx, s.db, in.GetName(), in.GetEmoji(), caller.UserID)
	if err != nil {
		return nil, err
	}
	data := encodeTag(tag)
	data.Created = &created
	return &callwrightv1.CreateCallTagResponse{Data: data}, nil
}

func (s *callTags) ListCallTags(ctx context.Context, in *callwrightv1.ListCallTagsRequest) (*callwrightv1.ListCallTagsResponse, error) {
	sort, err := tagSorts.read("sort", in.GetSort())
	if err != nil {
		return nil, err
	}
	page, err := analysis.ListTags(ctx, s.db.Ent(), analysis.TagQuery{
		Q: in.GetQ(), Offset: int(in.GetOffset()), Limit: optionalInt(in.Limit), Sort: analysis.TagSort(sort),
	})
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListCallTagsResponse{Pagination: pageOf(page)}
	for _, tag := range page.Rows {
		out.Data = append(out.Data, encodeTag(tag))
	}
	return out, nil
}

func (s *callTags) GetCallTag(ctx context.Context, in *callwrightv1.GetCallTagRequest) (*callwrightv1.GetCallTagResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	tag, err := analysis.GetTag(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetCallTagResponse{Data: encodeTag(tag)}, nil
}

func (s *callTags) UpdateCallTag(ctx context.Context, in *callwrightv1.UpdateCallTagRequest) (*callwrightv1.UpdateCallTagResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	tag, err := analysis.UpdateTag(ctx, s.db, id, in.Name, in.Emoji)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.UpdateCallTagResponse{Data: encodeTag(tag)}, nil
}

func (s *callTags) DeleteCallTag(ctx context.Context, in *callwrightv1.DeleteCallTagRequest) (*callwrightv1.DeleteCallTagResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	cascaded, err := analysis.DeleteTag(ctx, s.db, id, in.GetForce())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteCallTagResponse{Data: &callwrightv1.DeletedCallTag{
		Id: id.String(), Deleted: true, CascadedCount: optionalInt32(cascaded),
	}}, nil
}

func (s *callTags) SetCallTag(ctx context.Context, in *callwrightv1.SetCallTagRequest) (*callwrightv1.SetCallTagResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	var tag *uuid.UUID
	switch {
	case in.CallTagId != nil:
		parsed, err := parseID("call_tag_id", in.GetCallTagId())
		if err != nil {
			return nil, err
		}
		tag = &parsed
	case !slices.Contains(in.GetClear(), "call_tag_id"):
		return nil, fault.Invalidf("call_tag_id is required; null takes the tag away")
	}
	if err := analysis.SetTag(ctx, s.db, id, tag); err != nil {
		return nil, err
	}
	return &callwrightv1.SetCallTagResponse{Data: &callwrightv1.CallAnalysisTag{CallId: id.String(), CallTagId: optionalID(tag)}}, nil
}

func encodeTag(t *ent.CallTag) *callwrightv1.CallTag {
	out := &callwrightv1.CallTag{
		Id: t.ID.String(), Name: t.Name, WorkspaceId: t.WorkspaceID.String(), CreatedAt: timestamppb.New(t.CreatedAt),
		UpdatedAt: timestamppb.New(t.UpdatedAt), CreatedBy: optionalID(t.CreatedBy),
	}
	if t.Emoji != "" {
		out.Emoji = &t.Emoji
	}
	return out
}
