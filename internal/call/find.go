package call

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/ent/predicate"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/filter"
	"github.com/callwright/callwright/internal/store"
)

// Search selects calls as the tool server does (spec: MCP tools, list_calls). The zero value is the first page of all
// calls but tests, newest first. Bounds are the caller's to check, except those that would be an error of the database.
type Search struct {
	AgentID, ContactID, CampaignID *uuid.UUID
	// Status, Direction and AnsweredBy are texts of the specification; an unknown one is validation_failed.
	Status, Direction, AnsweredBy string
	// From and To are inclusive bounds of created_at as ISO 8601; a date alone as To is the end of that day, UTC.
	From, To string
	// ToNumber and FromNumber are exact.
	ToNumber, FromNumber string
	// MinDuration and MaxDuration are seconds, inclusive; calls without a duration match neither.
	MinDuration, MaxDuration *int
	// IncludeTest adds test conversations.
	IncludeTest bool
	// OldestFirst turns the order round.
	OldestFirst bool
	// Offset is how many rows to skip, Limit how many to return.
	Offset, Limit int
}

// Find returns a page of what a Search selects, and how many calls match.
func Find(ctx context.Context, c *ent.Client, q Search) ([]*ent.Call, int64, error) {
	matching, err := q.query(c)
	if err != nil {
		return nil, 0, err
	}
	count := func() (int64, error) {
		if q.unfiltered() {
			return kept(ctx, c, q.IncludeTest)
		}
		return counted(ctx, matching)
	}
	if q.Offset >= deepPage { // where skipping costs more than counting, nothing is skipped in vain
		if n, err := count(); err != nil || n <= int64(q.Offset) {
			return nil, n, err
		}
	}
	order := newest
	if q.OldestFirst {
		order = []call.OrderOption{call.ByCreatedAt(), call.ByID()}
	}
	rows, err := pageByIDs(ctx, c, matching, order, q.Offset, q.Limit)
	if err != nil {
		return nil, 0, err
	}
	if n := len(rows); n < q.Limit && (n > 0 || q.Offset == 0) {
		return rows, int64(q.Offset + n), nil
	}
	n, err := count()
	return rows, n, err
}

// pageByIDs finds the ids of a page first, which an index answers alone, and then reads its rows.
func pageByIDs(ctx context.Context, c *ent.Client, matching *ent.CallQuery, order []call.OrderOption, skip, take int) ([]*ent.Call, error) {
	ids, err := matching.Clone().Order(order...).Offset(skip).Limit(take).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("find a page of calls: %w", err)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := c.Call.Query().Where(call.IDIn(ids...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read a page of calls: %w", err)
	}
	at := make(map[uuid.UUID]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	slices.SortFunc(rows, func(a, b *ent.Call) int { return at[a.ID] - at[b.ID] })
	return rows, nil
}

// kept is how many calls the workspace of ctx has, as its counter knows it.
func kept(ctx context.Context, c *ent.Client, tests bool) (int64, error) {
	n, err := c.CallCount.Query().Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read the number of calls: %w", err)
	case tests:
		return n.Total, nil
	}
	return n.Total - n.Test, nil
}

// unfiltered reports whether all calls match, but for tests: their number is kept.
func (q Search) unfiltered() bool {
	q.IncludeTest, q.OldestFirst, q.Offset, q.Limit = false, false, 0, 0
	return q == Search{}
}

func (q Search) query(c *ent.Client) (*ent.CallQuery, error) {
	m := c.Call.Query()
	if !q.IncludeTest {
		m.Where(call.Test(false))
	}
	// A contact and a number have few calls: their index it shall be, whatever else is asked. All the rest can have many,
	// and the index that covers them all reads no rows.
	equal := func(column string, v any) predicate.Call { return store.EqualByRow(column, v) }
	if q.AgentID != nil {
		m.Where(equal(call.FieldAgentID, *q.AgentID))
	}
	if q.ContactID != nil {
		m.Where(call.ContactID(*q.ContactID))
	}
	if q.CampaignID != nil {
		m.Where(equal(call.FieldCampaignID, *q.CampaignID))
	}
	for _, f := range []struct{ name, column, text string }{
		{"status", call.FieldStatus, q.Status}, {"direction", call.FieldDirection, q.Direction},
		{"answered_by", call.FieldAnsweredBy, q.AnsweredBy},
		{"from_number", call.FieldFromNumber, q.FromNumber}, {"to_number", call.FieldToNumber, q.ToNumber},
	} {
		texts, fixed := enumTexts[f.name]
		switch {
		case f.text == "":
			continue
		case fixed && !slices.Contains(texts, f.text):
			return nil, fault.Invalidf("%s must be one of %s", f.name, strings.Join(texts, ", "))
		case !utf8.ValidString(f.text) || strings.IndexByte(f.text, 0) >= 0:
			return nil, fault.Invalidf("%s must be text without NUL characters", f.name)
		}
		if f.column == call.FieldToNumber {
			m.Where(call.ToNumber(f.text))
			continue
		}
		m.Where(equal(f.column, f.text))
	}
	if q.MinDuration != nil {
		m.Where(call.DurationGTE(*q.MinDuration))
	}
	if q.MaxDuration != nil {
		m.Where(call.DurationLTE(*q.MaxDuration))
	}
	return m, q.dates(m)
}

func (q Search) dates(m *ent.CallQuery) error {
	if q.From != "" {
		from, _, err := filter.ParseTime(q.From)
		if err != nil {
			return fault.Invalidf("from_date must be an ISO 8601 time")
		}
		m.Where(call.CreatedAtGTE(from))
	}
	if q.To != "" {
		to, whole, err := filter.ParseTime(q.To)
		if err != nil {
			return fault.Invalidf("to_date must be an ISO 8601 time")
		}
		if whole {
			to = to.AddDate(0, 0, 1).Add(-time.Microsecond)
		}
		m.Where(call.CreatedAtLTE(to))
	}
	return nil
}
