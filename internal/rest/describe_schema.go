package rest

import (
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// side is where a value stands: what is read is laxer than what is written.
type side int

const (
	inAnswer side = iota
	inCreate
	inUpdate // partial: nothing is required and nothing has a default
	inQuery
)

func boundsOf(fd protoreflect.FieldDescriptor) *callwrightv1.Bounds {
	b, _ := proto.GetExtension(fd.Options(), callwrightv1.E_Bounds).(*callwrightv1.Bounds)
	return b
}

func refOf(fd protoreflect.FieldDescriptor) callwrightv1.Ref {
	r, _ := proto.GetExtension(fd.Options(), callwrightv1.E_Ref).(callwrightv1.Ref)
	return r
}

func ref(kind, name string) object { return object{{"$ref", "#/components/" + kind + "/" + name}} }

// component adds a schema under a name, once. The name is taken before the schema is made, so that one may hold itself.
func (d *describer) component(name string, make func() object) {
	if d.done[name] {
		return
	}
	d.done[name] = true
	at := len(d.schemas)
	d.schemas = append(d.schemas, pair{name: name})
	d.schemas[at].value = make()
}

// message refers to a message's schema; what is read has one of its own.
func (d *describer) message(md protoreflect.MessageDescriptor, at side) object {
	name := string(md.Name())
	if at != inAnswer {
		name, at = name+"Input", inCreate
	}
	d.component(name, func() object { return d.members(md, at, nil) })
	return ref("schemas", name)
}

// members is the schema of an object: the plan of the codec in other words.
func (d *describer) members(md protoreflect.MessageDescriptor, at side, without []string) object {
	properties, required := object{}, []any(nil)
	for _, m := range shown(md, at, without) {
		properties = append(properties, pair{m.name, d.member(m, at)})
		if needed(m, at) {
			required = append(required, m.name)
		}
	}
	s := object{{"type", "object"}}
	if text := d.remarks[string(md.FullName())]; text != "" {
		s = append(s, pair{"description", text})
	}
	s = append(s, pair{"properties", properties})
	if required != nil {
		s = append(s, pair{"required", required})
	}
	return s
}

// shown are the members of a message in JSON, those of inlined messages among them. What is read leaves out what the path
// says and what is ignored.
func shown(md protoreflect.MessageDescriptor, at side, without []string) []*member {
	var all []*member
	for _, m := range planOf(md).members {
		switch {
		case m.key == nil:
			all = append(all, shown(m.fd.Message(), at, nil)...)
		case slices.Contains(without, string(m.fd.Name())), at != inAnswer && boundsOf(m.fd).GetReadOnly():
		default:
			all = append(all, m)
		}
	}
	return all
}

// needed says whether an object is not whole without the member.
func needed(m *member, at side) bool {
	switch {
	case at == inUpdate:
		return false
	case at != inAnswer:
		return boundsOf(m.fd).GetRequired()
	case m.oneof, m.omitEmpty:
		return false
	}
	// A single message or time that is not marked optional is always there; services see to it.
	return m.nullable || !m.presence || !m.fd.HasOptionalKeyword()
}

// nullAllowed says whether null may stand there. A time that is not marked optional always has a value.
func nullAllowed(m *member, at side) bool {
	if at == inAnswer {
		return m.nullable && !(m.shape == shapeTime && !m.fd.HasOptionalKeyword())
	}
	clears := planOf(m.fd.ContainingMessage()).nulls != nil && at == inCreate && m.fd.HasOptionalKeyword()
	return at != inQuery && !m.rejectNull && (clears || !needed(m, at))
}

// member is the schema of a member with what is said of it.
func (d *describer) member(m *member, at side) object {
	s := d.value(m, at)
	if nullAllowed(m, at) {
		s = orNull(s)
	}
	if text := d.remarks[string(m.fd.FullName())]; text != "" {
		s = append(s, pair{"description", text})
	}
	return s
}

// orNull lets a schema be null too.
func orNull(s object) object {
	if len(s) == 0 {
		return s
	}
	if s.get("$ref") != nil {
		return object{{"anyOf", []any{s, object{{"type", "null"}}}}}
	}
	s = slices.Clone(s)
	for i, p := range s {
		switch p.name {
		case "type":
			s[i].value = append(anys(p.value), "null")
		case "enum":
			s[i].value = append(slices.Clone(p.value.([]any)), nil)
		}
	}
	return s
}

func anys(v any) []any {
	if list, ok := v.([]any); ok {
		return slices.Clone(list)
	}
	return []any{v}
}

// value is the schema of a member's value, null aside.
func (d *describer) value(m *member, at side) object {
	b := boundsOf(m.fd)
	var s object
	switch m.shape {
	case shapeList:
		s = object{{"type", "array"}, {"items", d.item(m, at, b)}}
		s = s.with("minItems", int(b.GetMinItems())).with("maxItems", int(b.GetMaxItems()))
	case shapeMap:
		s = object{{"type", "object"}, {"additionalProperties", d.item(m, at, b)}}
		s = s.with("maxProperties", int(b.GetMaxItems()))
	default:
		s = d.item(m, at, b)
	}
	if b.GetAbsent() != "" && at != inAnswer && at != inUpdate {
		s = append(s, pair{"default", json.RawMessage(b.GetAbsent())})
	}
	if b.GetExample() != "" {
		s = append(s, pair{"examples", []any{json.RawMessage(b.GetExample())}})
	}
	return s
}

// item is the schema of a value that is no list or map.
func (d *describer) item(m *member, at side, b *callwrightv1.Bounds) object {
	switch m.elem {
	case shapeBool:
		return object{{"type", "boolean"}}
	case shapeInt, shapeUint, shapeFloat:
		return number(m, b)
	case shapeBytes:
		return object{{"type", "string"}, {"contentEncoding", "base64"}}
	case shapeEnum:
		return d.enum(m)
	case shapeTime:
		if at == inAnswer {
			return object{{"type", "string"}, {"format", "date-time"}}
		}
		return object{{"type", "string"}, {"examples", []any{exampleTime}}} // any form of ISO 8601
	case shapeRaw:
		if m.object {
			return object{{"type", "object"}, {"additionalProperties", true}}
		}
		return object{}
	case shapeStruct:
		return free(m)
	case shapeMessage:
		item := m.fd
		if m.fd.IsMap() {
			item = m.fd.MapValue()
		}
		return d.message(item.Message(), at)
	}
	return text(m, at, b)
}

// free is the schema of a well-known type that holds any JSON.
func free(m *member) object {
	switch m.fd.Message().Name() {
	case "Struct":
		return object{{"type", "object"}, {"additionalProperties", true}}
	case "ListValue":
		return object{{"type", "array"}, {"items", object{}}}
	}
	return object{}
}

func number(m *member, b *callwrightv1.Bounds) object {
	s := object{{"type", "integer"}, {"format", strings.TrimPrefix(m.fd.Kind().String(), "u")}}
	if m.elem == shapeFloat {
		s = object{{"type", "number"}}
	}
	if b != nil && b.Min != nil {
		s = append(s, pair{"minimum", b.GetMin()})
	}
	if b != nil && b.Max != nil {
		s = append(s, pair{"maximum", b.GetMax()})
	}
	return s
}

// enum lists an enum's texts and what is said of them.
func (d *describer) enum(m *member) object {
	ed := m.fd.Enum()
	var texts []any
	var said []string
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		t, ok := m.texts[v.Number()]
		if !ok {
			continue
		}
		texts = append(texts, t)
		if r := d.remarks[string(v.FullName())]; r != "" {
			said = append(said, "- `"+t+"`: "+r)
		}
	}
	s := object{{"type", "string"}, {"enum", texts}}
	if said != nil && d.remarks[string(m.fd.FullName())] == "" {
		s = append(s, pair{"description", strings.Join(said, "\n")})
	}
	return s
}

func text(m *member, at side, b *callwrightv1.Bounds) object {
	s := object{{"type", "string"}}
	if m.coerce && at != inAnswer {
		s = object{{"type", []any{"string", "number", "boolean"}}}
	}
	switch {
	case refOf(m.fd) != callwrightv1.Ref_REF_UNSPECIFIED:
		s = append(s, pair{"format", "uuid"})
	case m.address:
		s = append(s, pair{"format", "uri"})
	case b.GetFormat() != "":
		s = append(s, pair{"format", b.GetFormat()})
	}
	if len(b.GetOneOf()) > 0 {
		var all []any
		for _, one := range b.GetOneOf() {
			all = append(all, one)
		}
		s = append(s, pair{"enum", all})
	}
	s = s.with("minLength", int(b.GetMinLength())).with("maxLength", int(b.GetMaxLength()))
	if b.GetPattern() != "" {
		s = append(s, pair{"pattern", b.GetPattern()})
	}
	return s
}
