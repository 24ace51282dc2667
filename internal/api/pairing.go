package api

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
)

// pairings is the specification's section Pairing, with both sides: the client's and its owner's.
type pairings struct {
	callwrightv1.UnimplementedPairingServiceServer
	identity *identity.Identity
}

var pairingStates = textsOf[callwrightv1.PairingStatus]()

// from puts the client's address, which the server has made sure of, where the rules find it.
func from(ctx context.Context) context.Context {
	address := ""
	if sent := metadata.ValueFromIncomingContext(ctx, "client-address"); len(sent) == 1 {
		address = sent[0]
	}
	return identity.WithOrigin(ctx, address)
}

func (s *pairings) StartPairing(ctx context.Context, in *callwrightv1.StartPairingRequest) (*callwrightv1.StartPairingResponse, error) {
	p, err := s.identity.StartPairing(from(ctx), in.GetClientName(), json.RawMessage(in.GetPrefill()))
	if err != nil {
		return nil, err
	}
	return &callwrightv1.StartPairingResponse{
		DeviceCode:              p.DeviceCode,
		UserCode:                p.UserCode,
		VerificationUrl:         p.VerificationURL,
		VerificationUrlComplete: p.VerificationURLComplete,
		ExpiresIn:               int32(p.ExpiresIn),
		Interval:                int32(p.Interval),
	}, nil
}

func (s *pairings) PollPairing(ctx context.Context, in *callwrightv1.PollPairingRequest) (*callwrightv1.PollPairingResponse, error) {
	p, err := s.identity.PollPairing(from(ctx), in.GetDeviceCode())
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.PollPairingResponse{Status: pairingStates.number(p.State)}
	switch p.State {
	case identity.PairingPending:
		out.ExpiresIn, out.Interval = optionalInt32(&p.ExpiresIn), optionalInt32(&p.Interval)
	case identity.PairingCompleted:
		out.ApiKey, out.KeyId = &p.Key.Secret, optionalID(&p.Key.Row.ID)
		out.WorkspaceId, out.WorkspaceName = optionalID(&p.Workspace.ID), &p.Workspace.Name
		out.BaseUrl, out.McpUrl = &p.BaseURL, &p.MCPURL
	}
	return out, nil
}

func (s *pairings) LookUpPairing(ctx context.Context, in *callwrightv1.LookUpPairingRequest) (*callwrightv1.LookUpPairingResponse, error) {
	row, err := s.identity.LookUpPairing(from(ctx), in.GetUserCode())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.LookUpPairingResponse{Pairing: encodePairing(row)}, nil
}

func (s *pairings) DecidePairing(ctx context.Context, in *callwrightv1.DecidePairingRequest) (*callwrightv1.DecidePairingResponse, error) {
	row, err := s.identity.DecidePairing(from(ctx), in.GetUserCode(), in.GetApprove())
	if err != nil {
		return nil, err
	}
	return &callwrightv1.DecidePairingResponse{Pairing: encodePairing(row)}, nil
}

func encodePairing(row *ent.Pairing) *callwrightv1.Pairing {
	return &callwrightv1.Pairing{
		UserCode:      identity.ShowCode(row),
		ClientName:    row.ClientName,
		Status:        pairingStates.number(row.State),
		CreatedAt:     timestamppb.New(row.CreatedAt),
		ExpiresAt:     timestamppb.New(row.ExpiresAt),
		ClientAddress: row.Address,
	}
}
