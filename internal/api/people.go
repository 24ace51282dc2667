package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// people is how people come in, and who of them is in a workspace: the portal's side.
type people struct {
	callwrightv1.UnimplementedPeopleServiceServer
	db       *store.DB
	identity *identity.Identity
}

func (s *people) GetSignIn(ctx context.Context, _ *callwrightv1.GetSignInRequest) (*callwrightv1.GetSignInResponse, error) {
	needs, err := s.identity.NeedsSetUp(ctx)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetSignInResponse{
		NeedsSetUp: needs, SignUpOpen: s.identity.SignUpOpen(), OpenIdName: s.identity.OpenIDName(),
	}, nil
}

func (s *people) SignIn(ctx context.Context, in *callwrightv1.SignInRequest) (*callwrightv1.SignInResponse, error) {
	workspace, err := parseFilterID("workspace_id", in.GetWorkspaceId())
	if err != nil {
		return nil, err
	}
	signed, choices, err := s.identity.SignIn(from(ctx), in.GetEmail(), in.GetPassword(), workspace)
	if err != nil {
		return nil, err
	}
	if len(choices) == 0 {
		return &callwrightv1.SignInResponse{SignedIn: encodeSignedIn(signed)}, nil
	}
	return &callwrightv1.SignInResponse{Workspaces: encodeChoices(choices)}, nil
}

func (s *people) SetUp(ctx context.Context, in *callwrightv1.SetUpRequest) (*callwrightv1.SetUpResponse, error) {
	signed, err := s.identity.SetUp(from(ctx), in.GetToken(), identity.Newcomer{
		Email: in.GetEmail(), Password: in.GetPassword(), Name: in.GetName(), WorkspaceName: in.GetWorkspaceName(),
	})
	if err != nil {
		return nil, err
	}
	return &callwrightv1.SetUpResponse{SignedIn: encodeSignedIn(signed)}, nil
}

func (s *people) SignUp(ctx context.Context, in *callwrightv1.SignUpRequest) (*callwrightv1.SignUpResponse, error) {
	signed, err := s.identity.SignUp(from(ctx), identity.Newcomer{
		Email: in.GetEmail(), Password: in.GetPassword(), Name: in.GetName(), WorkspaceName: in.GetWorkspaceName(),
	})
	if err != nil {
		return nil, err
	}
	return &callwrightv1.SignUpResponse{SignedIn: encodeSignedIn(signed)}, nil
}

func (s *people) LookUpLink(ctx context.Context, in *callwrightv1.LookUpLinkRequest) (*callwrightv1.LookUpLinkResponse, error) {
	v, err := s.identity.LookUpLink(ctx, in.GetToken())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.LookUpLinkResponse{
		Kind: v.Row.Kind, Email: v.Email, WorkspaceName: v.WorkspaceName, Role: v.Row.Role,
		ExpiresAt: timestamppb.New(v.Row.ExpiresAt),
	}, nil
}

func (s *people) AcceptInvite(ctx context.Context, in *callwrightv1.AcceptInviteRequest) (*callwrightv1.AcceptInviteResponse, error) {
	signed, err := s.identity.AcceptInvite(from(ctx), in.GetToken(), identity.Newcomer{Password: in.GetPassword(), Name: in.GetName()})
	if err != nil {
		return nil, err
	}
	return &callwrightv1.AcceptInviteResponse{SignedIn: encodeSignedIn(signed)}, nil
}

func (s *people) ResetPassword(ctx context.Context, in *callwrightv1.ResetPasswordRequest) (*callwrightv1.ResetPasswordResponse, error) {
	signed, err := s.identity.ResetPassword(from(ctx), in.GetToken(), in.GetPassword())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.ResetPasswordResponse{SignedIn: encodeSignedIn(signed)}, nil
}

func (s *people) ChangePassword(ctx context.Context, in *callwrightv1.ChangePasswordRequest) (*callwrightv1.ChangePasswordResponse, error) {
	signed, err := s.identity.ChangePassword(from(ctx), in.GetCurrentPassword(), in.GetNewPassword())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.ChangePasswordResponse{SignedIn: encodeSignedIn(signed)}, nil
}

func (s *people) WhoAmI(ctx context.Context, _ *callwrightv1.WhoAmIRequest) (*callwrightv1.WhoAmIResponse, error) {
	u, w, err := s.identity.WhoAmI(ctx)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.WhoAmIResponse{Person: encodePerson(u, w.Name)}, nil
}

func (s *people) SignOut(ctx context.Context, _ *callwrightv1.SignOutRequest) (*callwrightv1.SignOutResponse, error) {
	return &callwrightv1.SignOutResponse{}, s.identity.SignOut(from(ctx))
}

func (s *people) SignOutEverywhere(ctx context.Context, _ *callwrightv1.SignOutEverywhereRequest) (*callwrightv1.SignOutEverywhereResponse, error) {
	return &callwrightv1.SignOutEverywhereResponse{}, s.identity.SignOutEverywhere(from(ctx))
}

func encodeSignedIn(s identity.SignedIn) *callwrightv1.SignedIn {
	return &callwrightv1.SignedIn{
		SessionToken: s.Token, ExpiresAt: timestamppb.New(s.ExpiresAt), Person: encodePerson(s.User, s.Workspace.Name),
	}
}

func encodePerson(u *ent.User, workspaceName string) *callwrightv1.Person {
	p := &callwrightv1.Person{
		Id:            u.ID.String(),
		WorkspaceName: workspaceName,
		Name:          u.Name,
		Role:          u.Role,
		CreatedAt:     timestamppb.New(u.CreatedAt),
		HasPassword:   u.PasswordHash != nil,
	}
	if u.WorkspaceID != nil {
		p.WorkspaceId = u.WorkspaceID.String()
	}
	if u.Email != nil {
		p.Email = *u.Email
	}
	return p
}

func (s *people) BeginOpenID(ctx context.Context, _ *callwrightv1.BeginOpenIDRequest) (*callwrightv1.BeginOpenIDResponse, error) {
	address, kept, err := s.identity.BeginOpenID(ctx)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.BeginOpenIDResponse{AuthorizationUrl: address, Attempt: kept}, nil
}

func (s *people) FinishOpenID(ctx context.Context, in *callwrightv1.FinishOpenIDRequest) (*callwrightv1.FinishOpenIDResponse, error) {
	v, err := s.identity.FinishOpenID(from(ctx), in.GetAttempt(), in.GetState(), in.GetCode())
	if err != nil {
		return nil, err
	}
	if len(v.Workspaces) == 0 {
		return &callwrightv1.FinishOpenIDResponse{SignedIn: encodeSignedIn(v.SignedIn)}, nil
	}
	return &callwrightv1.FinishOpenIDResponse{Workspaces: encodeChoices(v.Workspaces), Ticket: v.Ticket}, nil
}

func (s *people) ChooseOpenID(ctx context.Context, in *callwrightv1.ChooseOpenIDRequest) (*callwrightv1.ChooseOpenIDResponse, error) {
	workspace, err := parseID("workspace_id", in.GetWorkspaceId())
	if err != nil {
		return nil, err
	}
	signed, err := s.identity.ChooseOpenID(from(ctx), in.GetTicket(), workspace)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.ChooseOpenIDResponse{SignedIn: encodeSignedIn(signed)}, nil
}

func encodeChoices(all []*ent.Workspace) (choices []*callwrightv1.WorkspaceChoice) {
	for _, w := range all {
		choices = append(choices, &callwrightv1.WorkspaceChoice{Id: w.ID.String(), Name: w.Name})
	}
	return choices
}
