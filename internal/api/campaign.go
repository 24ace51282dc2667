package api

import (
	"context"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/campaign"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
)

// campaigns is CONTRACT.md §3, /v1/campaigns. Enrollment is in enrollment.go.
type campaigns struct {
	callwrightv1.UnimplementedCampaignServiceServer
	db *store.DB
}

func (s *campaigns) CreateCampaign(ctx context.Context, in *callwrightv1.CreateCampaignRequest) (*callwrightv1.CreateCampaignResponse, error) {
	input, err := decodeCampaign(in.GetCampaign())
	if err != nil {
		return nil, err
	}
	c, err := campaign.Create(ctx, s.db, input)
	if err != nil {
		return nil, err
	}
	data, err := encodeCampaign(c)
	return &callwrightv1.CreateCampaignResponse{Data: data}, err
}

func (s *campaigns) ListCampaigns(ctx context.Context, in *callwrightv1.ListCampaignsRequest) (*callwrightv1.ListCampaignsResponse, error) {
	page, err := campaign.List(ctx, s.db.Ent(), in.GetStatus(), int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListCampaignsResponse{Pagination: pageOf(page)}
	for _, c := range page.Rows {
		data, err := encodeCampaign(c)
		if err != nil {
			return nil, err
		}
		out.Data = append(out.Data, data)
	}
	return out, nil
}

func (s *campaigns) GetCampaign(ctx context.Context, in *callwrightv1.GetCampaignRequest) (*callwrightv1.GetCampaignResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	c, err := campaign.Get(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	data, err := encodeCampaign(c)
	return &callwrightv1.GetCampaignResponse{Data: data}, err
}

func (s *campaigns) UpdateCampaign(ctx context.Context, in *callwrightv1.UpdateCampaignRequest) (*callwrightv1.UpdateCampaignResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	input, err := decodeCampaign(in.GetCampaign())
	if err != nil {
		return nil, err
	}
	c, err := campaign.Update(ctx, s.db, id, input)
	if err != nil {
		return nil, err
	}
	data, err := encodeCampaign(c)
	return &callwrightv1.UpdateCampaignResponse{Data: data}, err
}

func (s *campaigns) DeleteCampaign(ctx context.Context, in *callwrightv1.DeleteCampaignRequest) (*callwrightv1.DeleteCampaignResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	if err := campaign.Delete(ctx, s.db, id); err != nil {
		return nil, err
	}
	return &callwrightv1.DeleteCampaignResponse{Data: deleted(id)}, nil
}

func (s *campaigns) StartCampaign(ctx context.Context, in *callwrightv1.StartCampaignRequest) (*callwrightv1.StartCampaignResponse, error) {
	data, err := s.move(ctx, in.GetId(), campaign.Start)
	return &callwrightv1.StartCampaignResponse{Data: data}, err
}

func (s *campaigns) PauseCampaign(ctx context.Context, in *callwrightv1.PauseCampaignRequest) (*callwrightv1.PauseCampaignResponse, error) {
	data, err := s.move(ctx, in.GetId(), campaign.Pause)
	return &callwrightv1.PauseCampaignResponse{Data: data}, err
}

func (s *campaigns) ResumeCampaign(ctx context.Context, in *callwrightv1.ResumeCampaignRequest) (*callwrightv1.ResumeCampaignResponse, error) {
	data, err := s.move(ctx, in.GetId(), campaign.Resume)
	return &callwrightv1.ResumeCampaignResponse{Data: data}, err
}

func (s *campaigns) StopCampaign(ctx context.Context, in *callwrightv1.StopCampaignRequest) (*callwrightv1.StopCampaignResponse, error) {
	data, err := s.move(ctx, in.GetId(), campaign.Stop)
	return &callwrightv1.StopCampaignResponse{Data: data}, err
}

func (s *campaigns) move(ctx context.Context, text string, to func(context.Context, *store.DB, uuid.UUID) (*ent.Campaign, error)) (*callwrightv1.Campaign, error) {
	id, err := parseID("id", text)
	if err != nil {
		return nil, err
	}
	c, err := to(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	return encodeCampaign(c)
}

func (s *campaigns) GetCampaignProgress(ctx context.Context, in *callwrightv1.GetCampaignProgressRequest) (*callwrightv1.GetCampaignProgressResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	p, err := campaign.ProgressOf(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetCampaignProgressResponse{Data: &callwrightv1.CampaignProgress{
		CampaignId: id.String(), Total: p.Total, Finished: p.Finished, Enrollments: p.Enrollments, Calls: p.Calls,
		NextAttemptAt: optionalTime(p.NextAttemptAt),
	}}, nil
}

func decodeCampaign(c *callwrightv1.Campaign) (in campaign.Input, err error) {
	if c == nil {
		return in, nil
	}
	in = campaign.Input{Name: c.Name, Clear: c.GetClear()}
	if c.AgentId != nil {
		id, err := parseID("agent_id", c.GetAgentId())
		if err != nil {
			return in, err
		}
		in.AgentID = &id
	}
	for _, s := range c.GetSteps() {
		in.Steps = append(in.Steps, campaign.Step{Type: s.GetType(), Message: s.GetMessage(), Minutes: int(s.GetMinutes())})
	}
	if s := c.GetSchedule(); s != nil {
		in.Schedule, err = decodeSchedule(s)
	}
	return in, err
}

func decodeSchedule(s *callwrightv1.CampaignSchedule) (*campaign.Schedule, error) {
	out := &campaign.Schedule{
		Schedule:    policy.Schedule{Days: s.GetDays(), From: s.GetFrom(), To: s.GetTo(), Timezone: s.GetTimezone()},
		MaxAttempts: int(s.GetMaxAttempts()),
	}
	if s.MaxAttempts != nil && out.MaxAttempts == 0 {
		return nil, fault.Invalidf("schedule.max_attempts must be 1 to 10")
	}
	for _, m := range s.GetRetryMinutes() {
		out.RetryMinutes = append(out.RetryMinutes, int(m))
	}
	if s.StartAt != nil {
		if !s.StartAt.IsValid() {
			return nil, fault.Invalidf("schedule.start_at must be an ISO 8601 time")
		}
		at := s.StartAt.AsTime().Truncate(time.Microsecond)
		out.StartAt = &at
	}
	return out, nil
}

func encodeCampaign(c *ent.Campaign) (*callwrightv1.Campaign, error) {
	steps, schedule, err := campaign.Read(c)
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.Campaign{
		Id: c.ID.String(), WorkspaceId: c.WorkspaceID.String(), CreatedAt: timestamppb.New(c.CreatedAt),
		UpdatedAt: timestamppb.New(c.UpdatedAt), Name: &c.Name, AgentId: optionalID(c.AgentID), Status: &c.Status,
		PausedReason: c.PausedReason, Schedule: encodeSchedule(schedule),
	}
	for _, s := range steps {
		step := &callwrightv1.CampaignStep{Type: s.Type}
		if s.Type == campaign.StepSMS {
			step.Message = &s.Message
		}
		if s.Type == campaign.StepWait {
			step.Minutes = optionalInt32(&s.Minutes)
		}
		out.Steps = append(out.Steps, step)
	}
	return out, nil
}

// encodeSchedule shows what was set; what counts for the rest is in the reference.
func encodeSchedule(s campaign.Schedule) *callwrightv1.CampaignSchedule {
	out := &callwrightv1.CampaignSchedule{StartAt: optionalTime(s.StartAt), Days: s.Days}
	for _, f := range []struct {
		text string
		into **string
	}{{s.From, &out.From}, {s.To, &out.To}, {s.Timezone, &out.Timezone}} {
		if f.text != "" {
			*f.into = &f.text
		}
	}
	if s.MaxAttempts > 0 {
		out.MaxAttempts = optionalInt32(&s.MaxAttempts)
	}
	for _, m := range s.RetryMinutes {
		out.RetryMinutes = append(out.RetryMinutes, int32(m))
	}
	return out
}
