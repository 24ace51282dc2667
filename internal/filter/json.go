package filter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
)

// maxPath bounds the members of a path.
const maxPath = 10

// json compiles {path: ["k", …], equals: value}. The path names members of objects. Types count: the text "5" is not
// the number 5. Numbers compare as doubles; null is also what is not there.
func (f *filter) json(path, name, column string, v any) (Predicate, error) {
	if f.leaves++; f.leaves > maxLeaves {
		return nil, refuse(path, "is one comparison too many: at most %d", maxLeaves)
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, refuse(path, `must be {"path": ["key"], "equals": value}`)
	}
	for op := range members {
		if op != "path" && op != "equals" {
			return nil, refuse(path+"."+shown(op), "is not an operator of %s, which has equals", name)
		}
	}
	keys, err := f.jsonKeys(path+".path", members["path"])
	if err != nil {
		return nil, err
	}
	want, given := members["equals"]
	if !given {
		return nil, refuse(path, "needs equals")
	}
	at := path + ".equals"
	switch want := want.(type) {
	case nil:
		return jsonType(column, keys, "null"), nil
	case bool:
		return jsonBool(column, keys, want), nil
	case string:
		if strings.IndexByte(want, 0) >= 0 {
			return nil, refuse(at, "must not contain a NUL character")
		}
		return jsonText(column, keys, want), nil
	case json.Number:
		n, err := strconv.ParseFloat(want.String(), 64)
		if err != nil {
			return nil, refuse(at, "is out of range")
		}
		return jsonNumber(column, keys, n), nil
	}
	return nil, refuse(at, "must be a text, number, boolean or null")
}

func (f *filter) jsonKeys(path string, v any) ([]string, error) {
	if one, ok := v.(string); ok && f.texts {
		v = []any{one} // where[metadata][path]=k
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > maxPath {
		return nil, refuse(path, "must be a list of 1 to %d keys", maxPath)
	}
	keys := make([]string, len(list))
	for i, item := range list {
		key, ok := item.(string)
		if !ok || strings.IndexByte(key, 0) >= 0 {
			return nil, refuse(fmt.Sprintf("%s[%d]", path, i), "must be text")
		}
		keys[i] = key
	}
	return keys, nil
}

// place writes the JSON value at keys: on PostgreSQL as json, on SQLite as the two arguments of json_type and
// json_extract.
func place(b *sql.Builder, column string, keys []string) {
	b.WriteString(column)
	if b.Dialect() == dialect.Postgres {
		b.WriteString("::json") // some columns are jsonb
		for _, k := range keys {
			b.WriteString(" -> ").Arg(k).WriteString("::text")
		}
		return
	}
	var path bytes.Buffer
	path.WriteByte('$')
	enc := json.NewEncoder(&path)
	enc.SetEscapeHTML(false)
	for _, k := range keys {
		path.WriteByte('.')
		_ = enc.Encode(k) // a string always encodes
		path.Truncate(path.Len() - 1)
	}
	b.WriteString(", ").Arg(path.String())
}

// typeOf writes the JSON type at keys; absent is null.
func typeOf(b *sql.Builder, column string, keys []string) {
	name := "JSON_TYPE("
	if b.Dialect() == dialect.Postgres {
		name = "JSON_TYPEOF("
	}
	b.WriteString("COALESCE(" + name)
	place(b, column, keys)
	b.WriteString("), 'null')")
}

// value writes the text (or on SQLite also number) at keys.
func value(b *sql.Builder, column string, keys []string) {
	if b.Dialect() == dialect.Postgres {
		b.WriteString("((")
		place(b, column, keys)
		b.WriteString(") #>> '{}')")
		return
	}
	b.WriteString("JSON_EXTRACT(")
	place(b, column, keys)
	b.WriteByte(')')
}

func onJSON(name string, write func(b *sql.Builder, column string, postgres bool)) Predicate {
	return func(s *sql.Selector) *sql.Predicate {
		column := s.C(name)
		return sql.P(func(b *sql.Builder) {
			b.WriteByte('(')
			write(b, column, b.Dialect() == dialect.Postgres)
			b.WriteByte(')')
		})
	}
}

func jsonType(column string, keys []string, name string) Predicate {
	return onJSON(column, func(b *sql.Builder, column string, _ bool) {
		typeOf(b, column, keys)
		b.WriteString(" = '" + name + "'")
	})
}

func jsonBool(column string, keys []string, want bool) Predicate {
	text := strconv.FormatBool(want)
	return onJSON(column, func(b *sql.Builder, column string, postgres bool) {
		typeOf(b, column, keys)
		if !postgres {
			b.WriteString(" = '" + text + "'") // SQLite has a type for each
			return
		}
		b.WriteString(" = 'boolean' AND ")
		value(b, column, keys)
		b.WriteString(" = '" + text + "'")
	})
}

func jsonText(column string, keys []string, want string) Predicate {
	return onJSON(column, func(b *sql.Builder, column string, postgres bool) {
		name := "text"
		if postgres {
			name = "string"
		}
		typeOf(b, column, keys)
		b.WriteString(" = '" + name + "' AND ")
		value(b, column, keys)
		b.WriteString(" = ").Arg(want)
	})
}

func jsonNumber(column string, keys []string, want float64) Predicate {
	return onJSON(column, func(b *sql.Builder, column string, postgres bool) {
		if !postgres {
			typeOf(b, column, keys)
			b.WriteString(" IN ('integer', 'real') AND CAST(")
			value(b, column, keys)
			b.WriteString(" AS REAL) = ").Arg(want)
			return
		}
		b.WriteString("CASE WHEN ") // AND would not keep the cast from other types
		typeOf(b, column, keys)
		b.WriteString(" = 'number' THEN ")
		value(b, column, keys)
		b.WriteString("::numeric::float8 = ").Arg(want).WriteString("::float8 ELSE FALSE END")
	})
}
