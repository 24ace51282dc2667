package filter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/relvacode/iso8601"

	"github.com/callwright/callwright/internal/store"
)

// Kind is what a field's values are, and so which operators it has.
type Kind int

const (
	Text  Kind = iota
	Phone      // ASCII
	Enum
	ID
	Time
	Int
)

func (k Kind) ops() []string {
	switch k {
	case Text, Phone:
		return []string{"equals", "not", "in", "notIn", "lt", "lte", "gt", "gte", "contains", "startsWith", "endsWith"}
	case Enum:
		return []string{"equals", "not", "in", "notIn"}
	}
	return []string{"equals", "not", "in", "notIn", "lt", "lte", "gt", "gte"}
}

func (k Kind) hasMode() bool { return k == Text || k == Phone || k == Enum }

// Field is a column that a list is filtered by.
type Field struct {
	Column   string
	Kind     Kind
	Nullable bool
	// Texts of Enum.
	Texts []string
}

func (f Field) isNull(is bool) Predicate {
	return func(s *sql.Selector) *sql.Predicate {
		if is {
			return sql.IsNull(s.C(f.Column))
		}
		return sql.NotNull(s.C(f.Column))
	}
}

// compare compiles one comparison with a value; a number may be a text where texts are all there is.
func (f Field) compare(path, op string, v any, fold, texts bool) (Predicate, error) {
	switch f.Kind {
	case Time:
		return f.compareTime(path, op, v)
	case Int:
		n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
		if _, isNumber := v.(json.Number); err != nil || !isNumber && !(texts && isText(v)) {
			return nil, refuse(path, "must be an integer")
		}
		return f.write(op, n), nil
	}
	text, ok := v.(string)
	if !ok || strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return nil, refuse(path, "must be text")
	}
	switch f.Kind {
	case ID:
		id, err := uuid.Parse(text)
		if err != nil || len(text) != len(uuid.Nil.String()) {
			return nil, refuse(path, "must be a UUID")
		}
		return f.write(op, id), nil
	case Enum:
		if fold {
			text = store.Fold(text)
		}
		if !slices.Contains(f.Texts, text) {
			return nil, refuse(path, "must be one of %s", strings.Join(f.Texts, ", "))
		}
		return f.write(op, text), nil
	}
	return f.compareText(op, text, fold), nil
}

func isText(v any) bool { _, ok := v.(string); return ok }

// signs are the operators that SQL has under another name.
var signs = map[string]string{"equals": "=", "not": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}

// write compares the column with a value that both databases order alike.
func (f Field) write(op string, v any) Predicate {
	return f.guarded(op, func(b *sql.Builder, column string) {
		b.WriteString(column + " " + signs[op] + " ").Arg(v)
	})
}

// guarded makes a comparison true or false also where the field has no value.
func (f Field) guarded(op string, compare func(b *sql.Builder, column string)) Predicate {
	return func(s *sql.Selector) *sql.Predicate {
		column := s.C(f.Column)
		return sql.P(func(b *sql.Builder) {
			b.WriteByte('(')
			switch {
			case f.Nullable && op == "not":
				b.WriteString(column + " IS NULL OR ")
			case f.Nullable:
				b.WriteString(column + " IS NOT NULL AND ")
			}
			compare(b, column)
			b.WriteByte(')')
		})
	}
}

// compareText compares by code point. Parts are found by position, not by LIKE: % and _ are literal, and case counts on
// both databases. LOWER is enough for columns of ASCII; texts of people are folded by a function of ours on
// SQLite and by ICU on PostgreSQL.
func (f Field) compareText(op, text string, fold bool) Predicate {
	if fold {
		text = strings.ToLower(text)
	}
	n := utf8.RuneCountInString(text)
	return f.guarded(op, func(b *sql.Builder, column string) {
		postgres := b.Dialect() == dialect.Postgres
		switch {
		case fold && f.Kind == Text && postgres:
			column = "LOWER(" + column + ` COLLATE "und-x-icu")` // whatever the locale of the database
		case fold && f.Kind == Text:
			column = store.Lower + "(" + column + ")"
		case fold:
			column = "LOWER(" + column + ")"
		}
		switch op {
		case "contains":
			find := "INSTR"
			if postgres {
				find = "STRPOS"
			}
			b.WriteString(find + "(" + column + ", ").Arg(text).WriteString(") > 0")
		case "startsWith":
			b.WriteString(fmt.Sprintf("SUBSTR(%s, 1, %d) = ", column, n)).Arg(text)
		case "endsWith":
			b.WriteString(fmt.Sprintf("SUBSTR(%[1]s, LENGTH(%[1]s) - %[2]d + 1, %[2]d) = ", column, n)).Arg(text)
		default:
			if postgres {
				column += ` COLLATE "C"`
			}
			b.WriteString(column + " " + signs[op] + " ").Arg(text)
		}
	})
}

// compareTime compares with an instant; a date alone is the whole day, UTC: equals means within it, lt and lte before
// its end (CONTRACT.md §1, Time in); gt and gte count from its beginning.
func (f Field) compareTime(path, op string, v any) (Predicate, error) {
	text, ok := v.(string)
	if !ok {
		return nil, refuse(path, "must be an ISO 8601 time")
	}
	at, whole, err := ParseTime(text)
	if err != nil {
		return nil, refuse(path, "must be an ISO 8601 time")
	}
	if !whole {
		return f.write(op, at), nil
	}
	next := at.AddDate(0, 0, 1)
	switch op {
	case "equals":
		return allOf([]Predicate{f.write("gte", at), f.write("lt", next)}), nil
	case "not":
		return noneOf([]Predicate{allOf([]Predicate{f.write("gte", at), f.write("lt", next)})}), nil
	case "lt", "lte":
		return f.write("lt", next), nil
	}
	return f.write(op, at), nil
}

// ParseTime reads an ISO 8601 time, of UTC where it names no zone. whole tells that it is a date alone.
func ParseTime(text string) (at time.Time, whole bool, err error) {
	if len(text) > 40 {
		return at, false, fmt.Errorf("not a time: %d bytes", len(text))
	}
	at, err = iso8601.ParseString(text)
	if err != nil {
		return at, false, err
	}
	return at.UTC().Truncate(time.Microsecond), len(text) == len("2006-01-02"), nil
}
