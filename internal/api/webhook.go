package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/webhook"
)

// webhooks is CONTRACT.md §3, /v1/webhook-deliveries.
type webhooks struct {
	callwrightv1.UnimplementedWebhookServiceServer
	db *store.DB
}

var deliveryStatuses = textsOf[callwrightv1.DeliveryStatus]()

func (s *webhooks) ListWebhookDeliveries(ctx context.Context, in *callwrightv1.ListWebhookDeliveriesRequest) (*callwrightv1.ListWebhookDeliveriesResponse, error) {
	callID, err := parseFilterID("call_id", in.GetCallId())
	if err != nil {
		return nil, err
	}
	status, err := deliveryStatuses.read("status", in.GetStatus())
	if err != nil {
		return nil, err
	}
	page, err := webhook.List(ctx, s.db.Ent(), webhook.Query{
		CallID: callID, Status: status, Offset: int(in.GetOffset()), Limit: optionalInt(in.Limit),
	})
	if err != nil {
		return nil, err
	}
	data, err := s.encode(ctx, page.Rows...)
	return &callwrightv1.ListWebhookDeliveriesResponse{Data: data, Pagination: pageOf(page)}, err
}

func (s *webhooks) GetWebhookDelivery(ctx context.Context, in *callwrightv1.GetWebhookDeliveryRequest) (*callwrightv1.GetWebhookDeliveryResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	row, err := webhook.Get(ctx, s.db.Ent(), id)
	if err != nil {
		return nil, err
	}
	data, err := s.encode(ctx, row)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.GetWebhookDeliveryResponse{Data: data[0]}, nil
}

func (s *webhooks) RetryWebhookDelivery(ctx context.Context, in *callwrightv1.RetryWebhookDeliveryRequest) (*callwrightv1.RetryWebhookDeliveryResponse, error) {
	id, err := parseID("id", in.GetId())
	if err != nil {
		return nil, err
	}
	row, err := webhook.Retry(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	data, err := s.encode(ctx, row)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.RetryWebhookDeliveryResponse{Data: data[0]}, nil
}

func (s *webhooks) encode(ctx context.Context, rows ...*ent.Delivery) ([]*callwrightv1.WebhookDelivery, error) {
	var endpoints []string
	for _, d := range rows {
		endpoints = append(endpoints, d.Endpoint)
	}
	failing, err := webhook.Failing(ctx, s.db.Ent(), endpoints)
	if err != nil {
		return nil, err
	}
	withheld, err := webhook.Withheld(ctx, s.db.Ent(), rows...)
	if err != nil {
		return nil, err
	}
	out := make([]*callwrightv1.WebhookDelivery, 0, len(rows))
	for _, d := range rows {
		tries, err := webhook.Attempts(d)
		if err != nil {
			return nil, err
		}
		for i := range tries {
			if withheld[d.CallID] { // a receiver may repeat what it got
				tries[i].Response = ""
			}
		}
		out = append(out, encodeDelivery(d, tries, failing[d.Endpoint]))
	}
	return out, nil
}

func encodeDelivery(d *ent.Delivery, tries []webhook.Attempt, failing bool) *callwrightv1.WebhookDelivery {
	out := &callwrightv1.WebhookDelivery{
		Id: d.ID.String(), WorkspaceId: d.WorkspaceID.String(), CallId: d.CallID.String(), ActionId: d.ActionID.String(),
		Url: d.URL, Status: deliveryStatuses.number(d.Status), AttemptsMade: int32(len(tries)),
		NextAttemptAt: optionalTime(d.NextAttemptAt), DeliveredAt: optionalTime(d.DeliveredAt),
		CreatedAt: timestamppb.New(d.CreatedAt), Failing: failing,
	}
	for _, t := range tries {
		a := &callwrightv1.WebhookAttempt{
			Number: int32(t.Number), At: timestamppb.New(t.At), DurationMs: int32(t.DurationMS), Error: text(t.Error),
			Response: text(t.Response),
		}
		if t.HTTPStatus != 0 {
			a.HttpStatus = optionalInt32(&t.HTTPStatus)
		}
		out.Attempts = append(out.Attempts, a)
	}
	return out
}
