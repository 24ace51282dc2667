package rest

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

const exampleTime = "2026-11-20T09:41:07.120Z"

// exampleOf is an example of a body. An answer shows every member, with null where none is wanted; a request shows what is
// required and what has an example of its own; a partial one leaves out what a create must have.
func exampleOf(md protoreflect.MessageDescriptor, at side, without []string) object {
	o := object{}
	for _, m := range shown(md, at, without) {
		own := boundsOf(m.fd).GetExample() != ""
		switch {
		case at != inAnswer && !own && !needed(m, at), at == inUpdate && boundsOf(m.fd).GetRequired():
		case at == inAnswer && !own && nullAllowed(m, at):
			o = append(o, pair{m.name, nil})
		case at == inAnswer && !own && (!needed(m, at) || m.shape == shapeList && m.elem != shapeMessage):
			if m.shape == shapeList && needed(m, at) {
				o = append(o, pair{m.name, []any{}})
			}
		default:
			o = append(o, pair{m.name, exampleValue(m, at)})
		}
	}
	return o
}

// exampleValue is an example of one member's value.
func exampleValue(m *member, at side) any {
	if own := boundsOf(m.fd).GetExample(); own != "" {
		return json.RawMessage(own)
	}
	switch m.shape {
	case shapeList:
		return []any{exampleItem(m, at)}
	case shapeMap:
		return object{{"key", exampleItem(m, at)}}
	}
	return exampleItem(m, at)
}

func exampleItem(m *member, at side) any {
	b := boundsOf(m.fd)
	switch m.elem {
	case shapeBool:
		return b.GetAbsent() == "true"
	case shapeInt, shapeUint, shapeFloat:
		return b.GetMin()
	case shapeBytes:
		return ""
	case shapeEnum:
		return firstText(m)
	case shapeTime:
		return exampleTime
	case shapeRaw:
		return object{}
	case shapeStruct:
		if m.fd.Message().Name() == "ListValue" {
			return []any{}
		}
		return object{}
	case shapeMessage:
		item := m.fd
		if m.fd.IsMap() {
			item = m.fd.MapValue()
		}
		return exampleOf(item.Message(), at, nil)
	}
	return exampleText(m, b)
}

// firstText is the first text of an enum.
func firstText(m *member) string {
	vs := m.fd.Enum().Values()
	for i := range vs.Len() {
		if t, ok := m.texts[vs.Get(i).Number()]; ok {
			return t
		}
	}
	return ""
}

func exampleText(m *member, b *callwrightv1.Bounds) string {
	if r := refOf(m.fd); r != callwrightv1.Ref_REF_UNSPECIFIED {
		return exampleID(r)
	}
	if len(b.GetOneOf()) > 0 {
		return b.GetOneOf()[0]
	}
	switch b.GetFormat() {
	case "e164":
		return "+15005550006"
	case "uri":
		return "https://www.example.com/"
	case "email":
		return "maria@example.com"
	case "time-zone":
		return "America/New_York"
	case "language":
		return "en"
	case "date":
		return exampleTime[:len("2026-11-20")]
	}
	if m.address {
		return "https://calls.example.com/"
	}
	return strings.ReplaceAll(m.name, "_", " ")
}

// exampleID is the same for every record of a kind.
func exampleID(r callwrightv1.Ref) string {
	const digits = "0123456789abcdef"
	n := int(r) % 256
	return "0198c1f2-7d3e-7a41-9b52-0000000000" + string(digits[n/16]) + string(digits[n%16])
}
