// Package filter compiles the where and orderBy parameters of lists into conditions that both databases answer alike
// (CONTRACT.md §2, Calls, GET /call): {field: value | {op: value}, AND: […], OR: […], NOT: {…}}.
//
// The list says which fields there are ([Table]); grammar, bounds, messages and the meaning of operators are here.
//
// Values are typed as JSON is: a duration is a number, in takes a list. A query string in brackets can only say texts; it
// comes as {"brackets": filter}, in which a number may be a text and one text stands for a list of one.
package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"

	"github.com/callwright/callwright/internal/fault"
)

// Bounds of a filter (CONTRACT.md §2, where). Depth counts how AND, OR and NOT are nested; a leaf is one comparison.
const (
	maxWhere   = 4096
	maxDepth   = 3
	maxLeaves  = 20
	maxMembers = 100
)

// Predicate writes one condition that is true or false for every row, never NULL: so NOT is the exact opposite on
// both databases. A comparison with a field that has no value is false, except that not and notIn are true: what has no
// value is not that value.
type Predicate func(s *sql.Selector) *sql.Predicate

// Table says what a list is filtered and ordered by.
type Table struct {
	Fields map[string]Field
	// JSON are fields that hold objects, by name: their columns. They are filtered by {path: ["k"], equals: value}.
	JSON map[string]string
	// Orders are the fields to order by. created_at must be one of them.
	Orders map[string]func(desc bool) func(*sql.Selector)
}

// filter compiles one where parameter.
type filter struct {
	Table
	leaves int
	texts  bool // the values are texts
}

// brackets is the one member of a filter whose values are texts. No field is called so.
const brackets = "brackets"

// Where reads a where parameter. Empty is no filter: the Predicate is nil. What it refuses is validation_failed with the
// place in details.path.
func (t Table) Where(text string) (Predicate, error) {
	v, err := decodeParameter("where", text)
	if err != nil || v == nil {
		return nil, err
	}
	f := &filter{Table: t}
	if members, ok := v.(map[string]any); ok && len(members) == 1 && members[brackets] != nil {
		f.texts, v = true, members[brackets]
	} else if len(text) > maxWhere {
		return nil, tooLong("where")
	}
	return f.object("where", v, 0)
}

// decodeParameter reads the JSON of where or orderBy; nil when there is none.
func decodeParameter(name, text string) (any, error) {
	switch {
	case len(text) > maxWhere+len(`{"brackets":}`):
		return nil, tooLong(name)
	case text == "":
		return nil, nil
	case !utf8.ValidString(text):
		return nil, refuse(name, "must be valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, refuse(name, "must be JSON")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, refuse(name, "must be one JSON value")
	}
	return v, nil
}

func tooLong(name string) error { return refuse(name, "must be at most %d bytes", maxWhere) }

func refuse(path, format string, args ...any) error {
	return fault.Invalidf("%s %s", path, fmt.Sprintf(format, args...)).With("path", path)
}

// object compiles {field: …, AND: […], OR: […], NOT: {…}}: all members must hold.
func (f *filter) object(path string, v any, depth int) (Predicate, error) {
	members, ok := v.(map[string]any)
	if !ok {
		return nil, refuse(path, "must be an object")
	}
	var all []Predicate
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := path + "." + shown(name)
		p, err := f.member(at, name, members[name], depth)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return allOf(all), nil
}

func (f *filter) member(path, name string, v any, depth int) (Predicate, error) {
	switch name {
	case "AND", "OR", "NOT":
		if depth == maxDepth {
			return nil, refuse(path, "is nested too deeply: at most %d levels of AND, OR and NOT", maxDepth)
		}
		parts, err := f.list(path, v, depth+1)
		switch {
		case err != nil:
			return nil, err
		case name == "AND":
			return allOf(parts), nil
		case name == "OR":
			return anyOf(parts), nil
		}
		return noneOf(parts), nil
	}
	if column, ok := f.JSON[name]; ok {
		return f.json(path, name, column, v)
	}
	field, known := f.Fields[name]
	if !known {
		return nil, refuse(path, "is not a field to filter by")
	}
	return f.field(path, field, v)
}

// list compiles the filters of AND, OR and NOT; one object stands for a list of one.
func (f *filter) list(path string, v any, depth int) ([]Predicate, error) {
	items, ok := v.([]any)
	if !ok {
		p, err := f.object(path, v, depth)
		return []Predicate{p}, err
	}
	parts := make([]Predicate, len(items))
	for i, item := range items {
		var err error
		if parts[i], err = f.object(fmt.Sprintf("%s[%d]", path, i), item, depth); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// field compiles value or {op: value, …}: all must hold.
func (f *filter) field(path string, fd Field, v any) (Predicate, error) {
	ops, ok := v.(map[string]any)
	if !ok {
		return f.leaf(path, fd, "equals", v, false)
	}
	fold := false
	if mode, given := ops["mode"]; given {
		if !fd.Kind.hasMode() {
			return nil, refuse(path+".mode", "is for text only")
		}
		if mode != "insensitive" {
			return nil, refuse(path+".mode", `must be "insensitive"`)
		}
		fold = true
	}
	var all []Predicate
	for _, op := range slices.Sorted(maps.Keys(ops)) {
		if op == "mode" {
			continue
		}
		p, err := f.leaf(path+"."+shown(op), fd, op, ops[op], fold)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, refuse(path, "needs an operator")
	}
	return allOf(all), nil
}

// leaf compiles one comparison.
func (f *filter) leaf(path string, fd Field, op string, v any, fold bool) (Predicate, error) {
	if f.leaves++; f.leaves > maxLeaves {
		return nil, refuse(path, "is one comparison too many: at most %d", maxLeaves)
	}
	switch {
	case !slices.Contains(fd.Kind.ops(), op):
		return nil, refuse(path, "is not an operator of this field, which has %s", strings.Join(fd.Kind.ops(), ", "))
	case v == nil && (op == "equals" || op == "not"):
		if !fd.Nullable {
			return nil, refuse(path, "must not be null: the field always has a value")
		}
		return fd.isNull(op == "equals"), nil
	case op != "in" && op != "notIn":
		return fd.compare(path, op, v, fold, f.texts)
	}
	members, ok := v.([]any)
	switch {
	case !ok && !f.texts:
		return nil, refuse(path, "must be a list")
	case !ok:
		members = []any{v} // where[status][in]=busy can not say that it is a list
	}
	if len(members) > maxMembers {
		return nil, refuse(path, "must have at most %d members", maxMembers)
	}
	parts := make([]Predicate, len(members))
	for i, m := range members {
		var err error
		if parts[i], err = fd.compare(fmt.Sprintf("%s[%d]", path, i), "equals", m, fold, f.texts); err != nil {
			return nil, err
		}
	}
	if op == "notIn" {
		return noneOf(parts), nil
	}
	return anyOf(parts), nil
}

// shown makes a name of the request fit for a message.
func shown(name string) string {
	if r := []rune(name); len(r) > 64 {
		name = string(r[:64]) + "…"
	}
	return strings.ReplaceAll(name, "\x00", "\uFFFD")
}

func allOf(ps []Predicate) Predicate { return joined(ps, " AND ", "1 = 1") }

func anyOf(ps []Predicate) Predicate { return joined(ps, " OR ", "1 = 0") }

func noneOf(ps []Predicate) Predicate {
	inner := anyOf(ps)
	return func(s *sql.Selector) *sql.Predicate {
		p := inner(s)
		return sql.P(func(b *sql.Builder) { b.WriteString("NOT ").Join(p) })
	}
}

func joined(ps []Predicate, with, empty string) Predicate {
	return func(s *sql.Selector) *sql.Predicate {
		return sql.P(func(b *sql.Builder) {
			b.WriteByte('(')
			for i, p := range ps {
				if i > 0 {
					b.WriteString(with)
				}
				b.Join(p(s))
			}
			if len(ps) == 0 {
				b.WriteString(empty)
			}
			b.WriteByte(')')
		})
	}
}
