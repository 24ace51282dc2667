package call

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/filter"
)

// Query selects a page of calls (spec: Calls, GET /call; CONTRACT.md §2).
type Query struct {
	// Skip is how many rows to skip, 0 to filter.MaxSkip.
	Skip int
	// Take is how many to return, 1 or more; more than 200 count as 200. Defaults to 10.
	Take *int
	// Where is a filter as JSON, OrderBy {"field": "asc" | "desc"} or a list of at most 3 of them. Both may be empty.
	Where, OrderBy string
}

// Page is what List returns.
type Page struct {
	Calls []*ent.Call
	// Total counts what matches, ignoring paging.
	Total int64
	// CurrentPage is floor(skip / take) + 1.
	CurrentPage int
}

// deepPage is from where on a page is found by its ids first: the index alone then carries what is skipped.
const deepPage = 1000

// List returns a page of the calls of the workspace in ctx, newest first unless OrderBy says otherwise.
func List(ctx context.Context, c *ent.Client, q Query) (Page, error) {
	take := 10
	switch {
	case q.Skip < 0 || q.Skip > filter.MaxSkip:
		return Page{}, fault.Invalidf("skip must be 0 to %d", filter.MaxSkip)
	case q.Take != nil && *q.Take < 1:
		return Page{}, fault.Invalidf("take must be 1 or more")
	case q.Take != nil:
		take = min(*q.Take, 200)
	}
	where, err := table.Where(q.Where)
	if err != nil {
		return Page{}, err
	}
	orders, err := table.Order(q.OrderBy)
	if err != nil {
		return Page{}, err
	}
	order := make([]call.OrderOption, len(orders))
	for i, by := range orders {
		order[i] = by
	}
	matching := c.Call.Query()
	if where != nil {
		matching.Where(func(s *sql.Selector) { s.Where(where(s)) })
	}
	p := Page{CurrentPage: q.Skip/take + 1}
	count := func() (int64, error) {
		if where == nil {
			return total(ctx, c)
		}
		return counted(ctx, matching)
	}
	if q.Skip >= deepPage { // where skipping costs more than counting, nothing is skipped in vain
		if p.Total, err = count(); err != nil || p.Total <= int64(q.Skip) {
			return p, err
		}
	}
	if p.Calls, err = page(ctx, c, matching, order, q.Skip, take); err != nil {
		return Page{}, err
	}
	// A page that is not full, or the first, proves the total by itself.
	if n := len(p.Calls); n < take && (n > 0 || q.Skip == 0) {
		p.Total = int64(q.Skip + n)
	} else if p.Total == 0 {
		p.Total, err = count()
	}
	return p, err
}

func counted(ctx context.Context, q *ent.CallQuery) (int64, error) {
	n, err := q.Clone().Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count calls: %w", err)
	}
	return int64(n), nil
}

func page(ctx context.Context, c *ent.Client, matching *ent.CallQuery, order []call.OrderOption, skip, take int) ([]*ent.Call, error) {
	if skip < deepPage {
		rows, err := matching.Clone().Order(order...).Offset(skip).Limit(take).All(ctx)
		if err != nil {
			return nil, fmt.Errorf("list calls: %w", err)
		}
		return rows, nil
	}
	return pageByIDs(ctx, c, matching, order, skip, take)
}

// newest is the default order. id breaks ties, which are frequent: created_at is in milliseconds.
var newest = []call.OrderOption{call.ByCreatedAt(sql.OrderDesc()), call.ByID(sql.OrderDesc())}
