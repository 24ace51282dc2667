package rest

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// plan is what the codec knows of a message type: its members in the proto's order, read once from the options of
// rest.proto.
type plan struct {
	members []*member
	byName  map[string]*member
	inlines []*member                    // whose own members stand among these
	nulls   protoreflect.FieldDescriptor // receives the names of null members; nil for most
}

// member is one field as JSON shows it.
type member struct {
	fd   protoreflect.FieldDescriptor
	name string
	key  []byte // `"name":`

	shape      shape
	elem       shape // of the items of a list or map
	nullable   bool  // shown as null when it has no value
	rejectNull bool
	omitEmpty  bool
	presence   bool // knows absent from empty
	oneof      bool
	coerce     bool
	object     bool // raw: only an object
	loose      bool // raw: whatever is in it
	address    bool
	code       string // error_code of a wrong type

	texts  map[protoreflect.EnumNumber]string
	values map[string]protoreflect.EnumNumber
	wanted string // what an enum may be, for the message of a refusal
}

// shape is how a value looks in JSON.
type shape uint8

const (
	shapeString shape = iota
	shapeBool
	shapeInt
	shapeUint
	shapeFloat
	shapeBytes
	shapeEnum
	shapeTime
	shapeStruct // google.protobuf.Struct, Value, ListValue: free JSON
	shapeRaw    // a string that holds JSON
	shapeMessage
	shapeList
	shapeMap
)

var plans sync.Map // protoreflect.FullName → *plan

func planOf(md protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(md.FullName()); ok {
		return p.(*plan)
	}
	p, _ := plans.LoadOrStore(md.FullName(), newPlan(md))
	return p.(*plan)
}

func newPlan(md protoreflect.MessageDescriptor) *plan {
	p := &plan{byName: map[string]*member{}}
	allNull, _ := proto.GetExtension(md.Options(), callwrightv1.E_Nulls).(bool)
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		o, _ := proto.GetExtension(fd.Options(), callwrightv1.E_Json).(*callwrightv1.Json)
		if o.GetNulls() {
			p.nulls = fd // REST never shows or takes it by name
			continue
		}
		m := newMember(fd, o)
		m.nullable = m.nullable || allNull && m.presence && !m.oneof
		p.members = append(p.members, m)
		if o.GetInline() {
			p.inlines = append(p.inlines, m)
			continue
		}
		p.byName[m.name] = m
	}
	for _, m := range p.inlines {
		m.key = nil
	}
	return p
}

func newMember(fd protoreflect.FieldDescriptor, o *callwrightv1.Json) *member {
	m := &member{
		fd: fd, name: fd.TextName(), nullable: o.GetEmitNull(), rejectNull: o.GetRejectNull(), omitEmpty: o.GetOmitEmpty(),
		presence: fd.HasPresence(), coerce: o.GetCoerce(), object: o.GetRaw() == "object", loose: o.GetRaw() == "loose", address: o.GetAddress(),
		code: o.GetErrorCode(),
	}
	if o.GetName() != "" {
		m.name = o.GetName()
	}
	m.key = appendString(nil, m.name)
	m.key = append(m.key, ':')
	if c := fd.ContainingOneof(); c != nil && !c.IsSynthetic() {
		m.oneof = true
	}
	item := fd
	switch {
	case fd.IsMap():
		m.shape, item = shapeMap, fd.MapValue()
	case fd.IsList():
		m.shape = shapeList
	}
	m.elem = shapeOf(item)
	if o.GetRaw() != "" && m.elem == shapeString {
		m.elem = shapeRaw
	}
	if m.shape != shapeMap && m.shape != shapeList {
		m.shape = m.elem
	}
	if m.elem == shapeEnum {
		m.enum(item.Enum())
	}
	return m
}

// enum reads the texts of an enum's values.
func (m *member) enum(ed protoreflect.EnumDescriptor) {
	m.texts = map[protoreflect.EnumNumber]string{}
	m.values = map[string]protoreflect.EnumNumber{}
	var all []string
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		text, _ := proto.GetExtension(v.Options(), callwrightv1.E_Text).(string)
		if text == "" && v.Number() == 0 {
			continue // unspecified: no value
		}
		if text == "" {
			text = string(v.Name())
		}
		m.texts[v.Number()] = text
		m.values[text] = v.Number()
		all = append(all, text)
	}
	m.wanted = "must be one of " + strings.Join(all, ", ")
}

func shapeOf(fd protoreflect.FieldDescriptor) shape {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return shapeBool
	case protoreflect.EnumKind:
		return shapeEnum
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return shapeFloat
	case protoreflect.BytesKind:
		return shapeBytes
	case protoreflect.StringKind:
		return shapeString
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return shapeUint
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch fd.Message().FullName() {
		case "google.protobuf.Timestamp":
			return shapeTime
		case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
			return shapeStruct
		}
		return shapeMessage
	}
	return shapeInt
}
