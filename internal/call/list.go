package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Query selects a page of calls (spec: Calls, GET /call; CONTRACT.md §2).
type Query struct {
	// Skip is how many rows to skip, 0 or more.
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
	case q.Skip < 0:
		return Page{}, fault.Invalidf("skip must be 0 or more")
	case q.Take != nil && *q.Take < 1:
		return Page{}, fault.Invalidf("take must be 1 or more")
	case q.Take != nil:
		take = min(*q.Take, 200)
	}
	where, err := compileWhere(q.Where)
	if err != nil {
		return Page{}, err
	}
	order, err := compileOrder(q.OrderBy)
	if err != nil {
		return Page{}, err
	}
	matching := c.Call.Query()
	if where != nil {
		matching.Where(func(s *sql.Selector) { s.Where(where(s)) })
	}
	p := Page{CurrentPage: q.Skip/take + 1}
	if p.Calls, err = page(ctx, c, matching, order, q.Skip, take); err != nil {
		return Page{}, err
	}
	// A page that is not full, or the first, proves the total by itself.
	switch n := len(p.Calls); {
	case n < take && (n > 0 || q.Skip == 0):
		p.Total = int64(q.Skip + n)
	case where == nil:
		p.Total, err = total(ctx, c)
	default:
		p.Total, err = counted(ctx, matching)
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
	q := matching.Clone().Order(order...).Offset(skip).Limit(take)
	if skip < deepPage {
		rows, err := q.All(ctx)
		if err != nil {
			return nil, fmt.Errorf("list calls: %w", err)
		}
		return rows, nil
	}
	ids, err := q.IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("find a page of calls: %w", err)
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

// newest is the default order. id breaks ties, which are frequent: created_at is in milliseconds.
var newest = []call.OrderOption{call.ByCreatedAt(sql.OrderDesc()), call.ByID(sql.OrderDesc())}

// orders are the fields that calls are ordered by.
var orders = map[string]func(desc bool) call.OrderOption{
	"created_at": func(desc bool) call.OrderOption { return call.ByCreatedAt(directed(desc)) },
	// Calls without a duration come last in both directions: the databases disagree about it.
	"duration": func(desc bool) call.OrderOption { return call.ByDuration(directed(desc), sql.OrderNullsLast()) },
	"status":   func(desc bool) call.OrderOption { return store.OrderText(call.FieldStatus, desc) },
	"to":       func(desc bool) call.OrderOption { return store.OrderText(call.FieldToNumber, desc) },
	"from":     func(desc bool) call.OrderOption { return store.OrderText(call.FieldFromNumber, desc) },
}

func directed(desc bool) sql.OrderTermOption {
	if desc {
		return sql.OrderDesc()
	}
	return sql.OrderAsc()
}

// maxOrder is how many fields a list is ordered by.
const maxOrder = 3

// orderTerm is a field and its direction.
type orderTerm struct {
	path, field string
	direction   any
}

// compileOrder reads an orderBy parameter. Empty is the default order.
func compileOrder(text string) ([]call.OrderOption, error) {
	if _, err := decodeParameter("orderBy", text); err != nil {
		return nil, err
	}
	terms, err := orderTerms(text)
	if err != nil || len(terms) == 0 {
		return newest, err
	}
	var out []call.OrderOption
	seen, ascending := map[string]bool{}, false
	for _, t := range terms {
		by, known := orders[t.field]
		switch {
		case !known:
			return nil, refuse(t.path, "is not a field to order by")
		case t.direction != "asc" && t.direction != "desc":
			return nil, refuse(t.path, `must be "asc" or "desc"`)
		case seen[t.field]:
			return nil, refuse(t.path, "is there twice")
		}
		seen[t.field] = true
		out = append(out, by(t.direction == "desc"))
		ascending = ascending || t.field == "created_at" && t.direction == "asc"
	}
	if len(out) > maxOrder {
		return nil, refuse("orderBy", "must name at most %d fields", maxOrder)
	}
	return append(out, call.ByID(directed(!ascending))), nil
}

// orderTerms takes an object or a list of objects apart, in the order they are written.
func orderTerms(text string) ([]orderTerm, error) {
	if text == "" {
		return nil, nil
	}
	if text = string(bytes.TrimSpace([]byte(text))); text[0] != '[' {
		return objectTerms("orderBy", json.RawMessage(text))
	}
	var items []json.RawMessage
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, refuse("orderBy", "must be JSON")
	}
	var terms []orderTerm
	for i, item := range items {
		more, err := objectTerms(fmt.Sprintf("orderBy[%d]", i), item)
		if err != nil {
			return nil, err
		}
		terms = append(terms, more...)
	}
	return terms, nil
}

func objectTerms(path string, text json.RawMessage) ([]orderTerm, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, refuse(path, `must be an object such as {"created_at": "desc"}`)
	}
	var terms []orderTerm
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, refuse(path, "must be JSON")
		}
		t := orderTerm{path: path + "." + shown(key.(string)), field: key.(string)}
		if err := dec.Decode(&t.direction); err != nil {
			return nil, refuse(path, "must be JSON")
		}
		terms = append(terms, t)
	}
	return terms, nil
}
