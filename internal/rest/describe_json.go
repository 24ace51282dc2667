package rest

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// object is a JSON object whose members keep their order.
type object []pair

type pair struct {
	name  string
	value any
}

// get is the value of a member, or nil.
func (o object) get(name string) any {
	for _, p := range o {
		if p.name == name {
			return p.value
		}
	}
	return nil
}

// with adds a member unless its value is 0.
func (o object) with(name string, n int) object {
	if n == 0 {
		return o
	}
	return append(o, pair{name, n})
}

// appendJSON writes what the description is made of.
func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendString(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case float64:
		return appendFloat(b, v)
	case json.RawMessage:
		return append(b, v...)
	case object:
		b = append(b, '{')
		for i, p := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, p.name), ':')
			b = appendJSON(b, p.value)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, item)
		}
		return append(b, ']')
	}
	panic(fmt.Sprintf("rest: %T in a description", v))
}
