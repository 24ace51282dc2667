package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
)

// usage is the specification's section Usage.
type usage struct {
	callwrightv1.UnimplementedUsageServiceServer
	db *store.DB
}

func (s *usage) GetUsage(ctx context.Context, _ *callwrightv1.GetUsageRequest) (*callwrightv1.GetUsageResponse, error) {
	report, err := call.Report(ctx, s.db.Ent(), store.Now())
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.GetUsageResponse{
		ConcurrentCalls: int32(report.Plan.ConcurrentCalls), Limited: report.Plan.Limited,
		MaxCallMinutes: int32(report.Plan.MaxCallMinutes),
	}
	for _, w := range report.Windows {
		out.Windows = append(out.Windows, &callwrightv1.UsageWindow{
			Key: w.Key, Label: w.Label, Limit: int64(w.Limit), Used: int64(w.Used), Remaining: int64(w.Remaining),
			ResetsAt: timestamppb.New(w.ResetsAt),
		})
	}
	return out, nil
}
