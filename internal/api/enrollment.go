package api

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/campaign"
	"github.com/callwright/callwright/internal/contact"
)

// spec: Campaign enrollment, POST /campaign/{campaign_id}/contact.
func (s *campaigns) EnrollContacts(ctx context.Context, in *callwrightv1.EnrollContactsRequest) (*callwrightv1.EnrollContactsResponse, error) {
	id, err := parseID("campaign_id", in.GetCampaignId())
	if err != nil {
		return nil, err
	}
	r := campaign.Request{AllowDuplicatePhone: in.GetAllowDuplicatePhone()}
	for i, text := range in.GetContactIds() {
		of, err := parseID(fmt.Sprintf("contact_ids[%d]", i), text)
		if err != nil {
			return nil, err
		}
		r.ContactIDs = append(r.ContactIDs, of)
	}
	for _, c := range in.GetContacts() {
		r.Contacts = append(r.Contacts, decodeEntry(c))
	}
	done, err := campaign.Enroll(ctx, s.db, id, r)
	if err != nil {
		return nil, err
	}
	return &callwrightv1.EnrollContactsResponse{Data: encodeEnrolled(in.GetCampaignId(), done)}, nil
}

func (s *campaigns) ListEnrollments(ctx context.Context, in *callwrightv1.ListEnrollmentsRequest) (*callwrightv1.ListEnrollmentsResponse, error) {
	id, err := parseID("campaign_id", in.GetCampaignId())
	if err != nil {
		return nil, err
	}
	page, err := campaign.Enrollments(ctx, s.db.Ent(), id, in.GetStatus(), int(in.GetOffset()), optionalInt(in.Limit))
	if err != nil {
		return nil, err
	}
	out := &callwrightv1.ListEnrollmentsResponse{Pagination: pageOf(page)}
	for _, e := range page.Rows {
		out.Data = append(out.Data, &callwrightv1.Enrollment{
			Id: e.ID.String(), ContactId: e.ContactID.String(), Status: e.Status, Step: int32(e.Step), Attempts: int32(e.Attempts),
			Variables: e.Variables, NextAttemptAt: optionalTime(e.NextAttemptAt), CreatedAt: timestamppb.New(e.CreatedAt),
			UpdatedAt: timestamppb.New(e.UpdatedAt),
		})
	}
	return out, nil
}

func decodeEntry(c *callwrightv1.EnrollContact) campaign.Entry {
	phone := c.GetPhone()
	return campaign.Entry{
		Input: contact.Input{
			FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Notes: c.AdditionalNotes, Phone: &phone,
			CustomFields: json.RawMessage(c.GetCustomFields()),
		},
		Variables: c.GetVariables(),
	}
}

func encodeEnrolled(campaignID string, done campaign.Enrolled) *callwrightv1.EnrolledContacts {
	out := &callwrightv1.EnrolledContacts{
		Message: fmt.Sprintf("%d contacts enrolled", len(done.Added)), AddedContactIds: []string{}, CampaignId: campaignID,
		ConversationStatus: string(done.Status), ScheduledTime: timestamppb.New(done.ScheduledTime),
	}
	for _, id := range done.Added {
		out.AddedContactIds = append(out.AddedContactIds, id.String())
	}
	for _, w := range done.FieldWarnings {
		out.CustomFieldWarnings = append(out.CustomFieldWarnings, &callwrightv1.CustomFieldWarning{
			Index: optionalInt32(&w.Index), Phone: &w.Phone, Key: w.Key, Code: string(w.Code), Message: w.Message,
		})
	}
	for _, w := range done.Warnings {
		shown := &callwrightv1.ContactWarning{Index: int32(w.Index), Code: w.Code, Message: w.Message, ContactId: optionalID(w.ContactID)}
		if w.Phone != "" {
			shown.Phone = &w.Phone
		}
		if w.MatchCount > 0 {
			shown.MatchCount = optionalInt32(&w.MatchCount)
		}
		out.ContactWarnings = append(out.ContactWarnings, shown)
	}
	return out
}
