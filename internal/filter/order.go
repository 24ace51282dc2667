package filter

import (
	"bytes"
	"encoding/json"
	"fmt"

	"entgo.io/ent/dialect/sql"
)

// MaxSkip bounds how many rows a list skips, so that the number of its page has 32 bits.
const MaxSkip = 1<<31 - 2

// maxOrder is how many fields a list is ordered by.
const maxOrder = 3

// orderTerm is a field and its direction.
type orderTerm struct {
	path, field string
	direction   any
}

// Order reads an orderBy parameter: the orders it names, then id, which breaks ties. Empty is the newest first. An object
// names one field: the members of a JSON object have no order, so several fields need a list.
func (t Table) Order(text string) ([]func(*sql.Selector), error) {
	if len(text) > maxWhere {
		return nil, tooLong("orderBy")
	}
	if _, err := decodeParameter("orderBy", text); err != nil {
		return nil, err
	}
	terms, err := orderTerms(text)
	if err != nil {
		return nil, err
	}
	if len(terms) == 0 {
		return []func(*sql.Selector){t.Orders["created_at"](true), byID(true)}, nil
	}
	var out []func(*sql.Selector)
	seen, ascending := map[string]bool{}, false
	for _, term := range terms {
		by, known := t.Orders[term.field]
		switch {
		case !known:
			return nil, refuse(term.path, "is not a field to order by")
		case term.direction != "asc" && term.direction != "desc":
			return nil, refuse(term.path, `must be "asc" or "desc"`)
		case seen[term.field]:
			return nil, refuse(term.path, "is there twice")
		}
		seen[term.field] = true
		out = append(out, by(term.direction == "desc"))
		ascending = ascending || term.field == "created_at" && term.direction == "asc"
	}
	if len(out) > maxOrder {
		return nil, refuse("orderBy", "must name at most %d fields", maxOrder)
	}
	return append(out, byID(!ascending)), nil
}

func byID(desc bool) func(*sql.Selector) { return sql.OrderByField("id", Directed(desc)).ToFunc() }

// Directed is the direction of an order.
func Directed(desc bool) sql.OrderTermOption {
	if desc {
		return sql.OrderDesc()
	}
	return sql.OrderAsc()
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
	if len(terms) > 1 {
		return nil, refuse(path, "must name one field: give several as a list of objects")
	}
	return terms, nil
}
