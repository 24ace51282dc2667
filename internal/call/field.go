package call

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

	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/store"
)

// kind is what a field's values are, and so which operators it has.
type kind int

const (
	kindText kind = iota // numbers of telephones: ASCII
	kindEnum
	kindID
	kindTime
	kindInt
)

func (k kind) ops() []string {
	switch k {
	case kindText:
		return []string{"equals", "not", "in", "notIn", "lt", "lte", "gt", "gte", "contains", "startsWith", "endsWith"}
	case kindEnum:
		return []string{"equals", "not", "in", "notIn"}
	}
	return []string{"equals", "not", "in", "notIn", "lt", "lte", "gt", "gte"}
}

func (k kind) hasMode() bool { return k == kindText || k == kindEnum }

// field is a column that calls are filtered by.
type field struct {
	column   string
	kind     kind
	nullable bool
	// texts of kindEnum.
	texts []string
}

var fields = map[string]field{
	"id":          {column: call.FieldID, kind: kindID},
	"created_at":  {column: call.FieldCreatedAt, kind: kindTime},
	"to":          {column: call.FieldToNumber, kind: kindText},
	"from":        {column: call.FieldFromNumber, kind: kindText},
	"status":      {column: call.FieldStatus, kind: kindEnum, texts: enumTexts["status"]},
	"duration":    {column: call.FieldDuration, kind: kindInt, nullable: true},
	"direction":   {column: call.FieldDirection, kind: kindEnum, texts: enumTexts["direction"]},
	"agent_id":    {column: call.FieldAgentID, kind: kindID, nullable: true},
	"contact_id":  {column: call.FieldContactID, kind: kindID, nullable: true},
	"campaign_id": {column: call.FieldCampaignID, kind: kindID, nullable: true},
	"answered_by": {column: call.FieldAnsweredBy, kind: kindEnum, nullable: true, texts: enumTexts["answered_by"]},
}

func (f field) isNull(is bool) predicate {
	return func(s *sql.Selector) *sql.Predicate {
		if is {
			return sql.IsNull(s.C(f.column))
		}
		return sql.NotNull(s.C(f.column))
	}
}

// compare compiles one comparison with a value. Values from brackets are all texts, so numbers and times may be texts.
func (f field) compare(path, op string, v any, fold bool) (predicate, error) {
	switch f.kind {
	case kindTime:
		return f.compareTime(path, op, v)
	case kindInt:
		n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
		if _, isNumber := v.(json.Number); err != nil || !isNumber && !isText(v) {
			return nil, refuse(path, "must be an integer")
		}
		return f.write(op, n), nil
	}
	text, ok := v.(string)
	if !ok || strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return nil, refuse(path, "must be text")
	}
	switch f.kind {
	case kindID:
		id, err := uuid.Parse(text)
		if err != nil || len(text) != len(uuid.Nil.String()) {
			return nil, refuse(path, "must be a UUID")
		}
		return f.write(op, id), nil
	case kindEnum:
		if fold {
			text = store.Fold(text)
		}
		if !slices.Contains(f.texts, text) {
			return nil, refuse(path, "must be one of %s", strings.Join(f.texts, ", "))
		}
		return f.write(op, text), nil
	}
	return f.compareText(op, text, fold), nil
}

func isText(v any) bool { _, ok := v.(string); return ok }

// signs are the operators that SQL has under another name.
var signs = map[string]string{"equals": "=", "not": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}

// write compares the column with a value that both databases order alike.
func (f field) write(op string, v any) predicate {
	return f.guarded(op, func(b *sql.Builder, column string) {
		b.WriteString(column + " " + signs[op] + " ").Arg(v)
	})
}

// guarded makes a comparison true or false also where the field has no value.
func (f field) guarded(op string, compare func(b *sql.Builder, column string)) predicate {
	return func(s *sql.Selector) *sql.Predicate {
		column := s.C(f.column)
		return sql.P(func(b *sql.Builder) {
			b.WriteByte('(')
			switch {
			case f.nullable && op == "not":
				b.WriteString(column + " IS NULL OR ")
			case f.nullable:
				b.WriteString(column + " IS NOT NULL AND ")
			}
			compare(b, column)
			b.WriteByte(')')
		})
	}
}

// compareText compares by code point. Parts are found by position, not by LIKE: % and _ are literal, and case counts on
// both databases. The columns hold ASCII, so that LOWER is enough to fold them.
func (f field) compareText(op, text string, fold bool) predicate {
	n := utf8.RuneCountInString(text)
	if fold {
		text = store.Fold(text)
		n = utf8.RuneCountInString(text)
	}
	return f.guarded(op, func(b *sql.Builder, column string) {
		if fold {
			column = "LOWER(" + column + ")"
		}
		postgres := b.Dialect() == dialect.Postgres
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
func (f field) compareTime(path, op string, v any) (predicate, error) {
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
		return allOf([]predicate{f.write("gte", at), f.write("lt", next)}), nil
	case "not":
		return noneOf([]predicate{allOf([]predicate{f.write("gte", at), f.write("lt", next)})}), nil
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
	return stored(at), len(text) == len("2006-01-02"), nil
}
