package campaign

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/enrollment"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Enrollments gives a page of a campaign's enrollments, oldest first, of one status unless it is empty.
func Enrollments(ctx context.Context, c *ent.Client, id uuid.UUID, status string, offset int, limit *int) (page store.Page[*ent.Enrollment], err error) {
	if status != "" && !slices.Contains(enrolled, status) {
		return page, fault.Invalidf("status must be one of %s", strings.Join(enrolled, ", "))
	}
	if _, err := Get(ctx, c, id); err != nil {
		return page, err
	}
	match := c.Enrollment.Query().Where(enrollment.CampaignID(id))
	if status != "" {
		match.Where(enrollment.Status(status))
	}
	return store.ReadPage(ctx, offset, limit, func(ctx context.Context, offset, limit int) ([]*ent.Enrollment, error) {
		return match.Clone().Order(enrollment.ByCreatedAt(), enrollment.ByID()).Offset(offset).Limit(limit).All(ctx)
	}, match.Clone().Count)
}

// Progress is how far a campaign has come.
type Progress struct {
	// Total are the contacts enrolled, Finished those of them at an end.
	Total, Finished int64
	// Enrollments and Calls are counted by status.
	Enrollments, Calls map[string]int64
	// NextAttemptAt is when the next enrollment is due.
	NextAttemptAt *time.Time
}

// ProgressOf counts a campaign. Errors: campaign_not_found.
func ProgressOf(ctx context.Context, c *ent.Client, id uuid.UUID) (p Progress, err error) {
	if _, err := Get(ctx, c, id); err != nil {
		return p, err
	}
	var rows []struct {
		Status string `json:"status"`
		Count  int64  `json:"count"`
	}
	err = c.Enrollment.Query().Where(enrollment.CampaignID(id)).GroupBy(enrollment.FieldStatus).Aggregate(ent.Count()).Scan(ctx, &rows)
	if err != nil {
		return p, fmt.Errorf("count enrollments: %w", err)
	}
	p.Enrollments = map[string]int64{}
	for _, r := range rows {
		p.Enrollments[r.Status] = r.Count
		p.Total += r.Count
		if !slices.Contains(open, r.Status) {
			p.Finished += r.Count
		}
	}
	if p.Calls, err = call.Tally(ctx, c, id); err != nil {
		return p, err
	}
	next, err := c.Enrollment.Query().Where(enrollment.CampaignID(id), enrollment.NextAttemptAtNotNil()).
		Order(enrollment.ByNextAttemptAt()).First(ctx)
	if ent.IsNotFound(err) {
		return p, nil
	}
	if err == nil {
		p.NextAttemptAt = next.NextAttemptAt
	}
	return p, err
}
