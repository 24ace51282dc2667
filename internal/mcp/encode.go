package mcp

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// fieldset lists the members of an answer in their order.
type fieldset []protoreflect.Name

// encode turns a message into a JSON object of the fields that have a value. Fields that are not in the set are never
// shown, whatever the service sends. spec: "Fields appear only when they have a value."
func (fs fieldset) encode(m proto.Message) map[string]any {
	out := make(map[string]any, len(fs))
	r := m.ProtoReflect()
	for _, name := range fs {
		f := r.Descriptor().Fields().ByName(name)
		if !r.Has(f) {
			continue
		}
		if v := scalar(f, r.Get(f)); v != nil {
			out[string(name)] = v
		}
	}
	return out
}

func scalar(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch {
	case f.IsList():
		list := make([]any, v.List().Len())
		for i := range list {
			list[i] = single(f, v.List().Get(i))
		}
		return list
	case f.Kind() == protoreflect.StringKind && v.String() == "":
		return nil
	default:
		return single(f, v)
	}
}

func single(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.EnumKind:
		return enumText(f.Enum().Values().ByNumber(v.Enum()))
	case protoreflect.MessageKind:
		// The only messages in the sets are times.
		t, _ := v.Message().Interface().(*timestamppb.Timestamp)
		return t.AsTime().UTC().Format("2006-01-02T15:04:05.000Z07:00")
	default:
		return v.Interface()
	}
}

// schema describes encode's answer: every member optional, since it shows only when it has a value.
func (fs fieldset) schema(m proto.Message) map[string]any {
	members := make(map[string]any, len(fs))
	fields := m.ProtoReflect().Descriptor().Fields()
	for _, name := range fs {
		f := fields.ByName(name)
		s := kindSchema(f)
		if f.IsList() {
			s = map[string]any{"type": "array", "items": s}
		}
		members[string(name)] = s
	}
	return map[string]any{"type": "object", "properties": members}
}

func kindSchema(f protoreflect.FieldDescriptor) map[string]any {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return map[string]any{"type": "boolean"}
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return map[string]any{"type": "integer"}
	case protoreflect.DoubleKind:
		return map[string]any{"type": "number"}
	case protoreflect.EnumKind:
		return map[string]any{"type": "string", "enum": enumTexts(f.Enum())}
	case protoreflect.MessageKind:
		return map[string]any{"type": "string", "format": "date-time", "examples": []string{time.Unix(1763628067, 120e6).UTC().Format("2006-01-02T15:04:05.000Z07:00")}}
	default:
		return map[string]any{"type": "string"}
	}
}
