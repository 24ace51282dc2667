package rest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// encoder writes messages as JSON: members in the proto's order, so that equal messages give equal bytes.
type encoder struct {
	address string // stands before fields with the address option
	err     error
}

// members writes the members of a message, without the braces, after whatever b ends with.
func (e *encoder) members(b []byte, m protoreflect.Message, p *plan) []byte {
	for _, f := range p.members {
		if f.key == nil { // inline
			if m.Has(f.fd) {
				inner := m.Get(f.fd).Message()
				b = e.members(b, inner, planOf(inner.Descriptor()))
			}
			continue
		}
		null := false
		if f.presence {
			if !m.Has(f.fd) {
				if !f.nullable {
					continue
				}
				null = true
			}
		} else if (f.nullable || f.omitEmpty || f.shape == shapeEnum) && !m.Has(f.fd) {
			switch {
			case f.omitEmpty:
				continue
			case f.nullable:
				null = true
			case f.texts[0] == "":
				continue // an enum without a value
			}
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, f.key...)
		if null {
			b = append(b, "null"...)
			continue
		}
		b = e.value(b, f, f.shape, m.Get(f.fd))
	}
	return b
}

func (e *encoder) message(b []byte, m protoreflect.Message) []byte {
	b = append(b, '{')
	b = e.members(b, m, planOf(m.Descriptor()))
	return append(b, '}')
}

func (e *encoder) value(b []byte, f *member, s shape, v protoreflect.Value) []byte {
	switch s {
	case shapeString:
		if f.address && strings.HasPrefix(v.String(), "/") { // else there is none, or it is a whole address
			return appendString(b, e.address+strings.TrimSuffix(v.String(), "/"))
		}
		return appendString(b, v.String())
	case shapeBool:
		return strconv.AppendBool(b, v.Bool())
	case shapeInt:
		return strconv.AppendInt(b, v.Int(), 10)
	case shapeUint:
		return strconv.AppendUint(b, v.Uint(), 10)
	case shapeFloat:
		return appendFloat(b, v.Float())
	case shapeBytes:
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, v.Bytes())
		return append(b, '"')
	case shapeEnum:
		if text, ok := f.texts[v.Enum()]; ok {
			return appendString(b, text)
		}
		return append(b, "null"...)
	case shapeTime:
		return e.time(b, v.Message().Interface())
	case shapeStruct:
		return e.free(b, v.Message().Interface())
	case shapeRaw:
		return e.raw(b, f, v.String())
	case shapeMessage:
		return e.message(b, v.Message())
	case shapeList:
		b = append(b, '[')
		l := v.List()
		for i := range l.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.value(b, f, f.elem, l.Get(i))
		}
		return append(b, ']')
	case shapeMap:
		return e.entries(b, f, v.Map())
	}
	return b
}

// entries writes a map in the order of its keys.
func (e *encoder) entries(b []byte, f *member, m protoreflect.Map) []byte {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(x, y protoreflect.MapKey) int { return strings.Compare(x.String(), y.String()) })
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, k.String())
		b = append(b, ':')
		b = e.value(b, f, f.elem, m.Get(k))
	}
	return append(b, '}')
}

// time writes RFC 3339 in UTC with exactly three digits of milliseconds. CONTRACT.md §1, Time.
func (e *encoder) time(b []byte, m proto.Message) []byte {
	t := m.(*timestamppb.Timestamp)
	if err := t.CheckValid(); err != nil {
		e.fail(err)
		return b
	}
	b = append(b, '"')
	b = t.AsTime().Truncate(time.Millisecond).AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return append(b, '"')
}

// raw writes JSON that a string field holds, to the byte as it was stored.
func (e *encoder) raw(b []byte, f *member, text string) []byte {
	switch {
	case text == "" && f.object:
		return append(b, "{}"...)
	case text == "":
		return append(b, "null"...)
	}
	start := len(b)
	b = append(b, text...)
	if !json.Valid(b[start:]) {
		e.fail(fmt.Errorf("%s holds text that is not JSON", f.fd.FullName()))
	}
	return b
}

// free writes a well-known type that holds any JSON; its members in the order of their keys.
func (e *encoder) free(b []byte, m proto.Message) []byte {
	switch m := m.(type) {
	case *structpb.Struct:
		b = append(b, '{')
		for i, k := range sortedKeys(m.GetFields()) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, k)
			b = append(b, ':')
			b = e.free(b, m.GetFields()[k])
		}
		return append(b, '}')
	case *structpb.ListValue:
		b = append(b, '[')
		for i, v := range m.GetValues() {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.free(b, v)
		}
		return append(b, ']')
	case *structpb.Value:
		switch v := m.GetKind().(type) {
		case *structpb.Value_StringValue:
			return appendString(b, v.StringValue)
		case *structpb.Value_NumberValue:
			return appendFloat(b, v.NumberValue)
		case *structpb.Value_BoolValue:
			return strconv.AppendBool(b, v.BoolValue)
		case *structpb.Value_StructValue:
			return e.free(b, v.StructValue)
		case *structpb.Value_ListValue:
			return e.free(b, v.ListValue)
		}
	}
	return append(b, "null"...)
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// appendFloat writes a number as JavaScript does; what is no number becomes null.
func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
}

const hex = "0123456789abcdef"

// appendString writes a JSON string. Invalid UTF-8 becomes U+FFFD; only what JSON demands is escaped.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(b, s[start:i]...)
				b = append(b, "\ufffd"...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
