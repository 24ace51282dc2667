package contact

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/contact"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/filter"
	"github.com/callwright/callwright/internal/store"
)

// Query selects a page of contacts (CONTRACT.md §2, Contacts, List).
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
	Contacts []*ent.Contact
	// Total counts what matches, ignoring paging.
	Total int
	// CurrentPage is floor(skip / take) + 1.
	CurrentPage int
}

// table is what contacts are filtered and ordered by.
var table = filter.Table{
	Fields: map[string]filter.Field{
		"id":         {Column: contact.FieldID, Kind: filter.ID},
		"phone":      {Column: contact.FieldPhone, Kind: filter.Phone},
		"email":      {Column: contact.FieldEmail, Kind: filter.Text, Nullable: true},
		"first_name": {Column: contact.FieldFirstName, Kind: filter.Text, Nullable: true},
		"last_name":  {Column: contact.FieldLastName, Kind: filter.Text, Nullable: true},
		"status": {Column: contact.FieldStatus, Kind: filter.Enum,
			Texts: []string{StatusActive, StatusArchived, StatusDoNotCall}},
		"created_at": {Column: contact.FieldCreatedAt, Kind: filter.Time},
		"updated_at": {Column: contact.FieldUpdatedAt, Kind: filter.Time},
	},
	JSON: map[string]string{"custom_fields": contact.FieldCustomFields},
	Orders: map[string]func(desc bool) func(*sql.Selector){
		"created_at": func(desc bool) func(*sql.Selector) { return contact.ByCreatedAt(filter.Directed(desc)) },
		"updated_at": func(desc bool) func(*sql.Selector) { return contact.ByUpdatedAt(filter.Directed(desc)) },
		"first_name": func(desc bool) func(*sql.Selector) { return byName(contact.FieldFirstName, desc) },
		"last_name":  func(desc bool) func(*sql.Selector) { return byName(contact.FieldLastName, desc) },
		"phone":      func(desc bool) func(*sql.Selector) { return store.OrderText(contact.FieldPhone, desc) },
	},
}

// byName puts contacts without the name last in both directions: the databases disagree about it.
func byName(column string, desc bool) func(*sql.Selector) {
	return func(s *sql.Selector) {
		s.OrderExpr(sql.Expr("CASE WHEN " + s.C(column) + " IS NULL THEN 1 ELSE 0 END"))
		store.OrderText(column, desc)(s)
	}
}

// deepPage is from where on a list counts before it skips.
const deepPage = 1000

// List returns a page of the contacts of the workspace in ctx, newest first unless OrderBy says otherwise.
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
	matching := c.Contact.Query()
	if where != nil {
		matching.Where(func(s *sql.Selector) { s.Where(where(s)) })
	}
	p := Page{CurrentPage: q.Skip/take + 1}
	if q.Skip >= deepPage { // where skipping costs more than counting, nothing is skipped in vain
		n, err := matching.Clone().Count(ctx)
		if err != nil || n <= q.Skip {
			p.Total = n
			return p, err
		}
	}
	rows := matching.Clone().Offset(q.Skip).Limit(take)
	for _, by := range orders {
		rows.Order(contact.OrderOption(by))
	}
	if p.Contacts, err = rows.All(ctx); err != nil {
		return Page{}, fmt.Errorf("list contacts: %w", err)
	}
	p.Total, err = store.Total(ctx, q.Skip, take, len(p.Contacts), matching.Clone().Count)
	return p, err
}
