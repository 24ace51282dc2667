package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// This file says a second time, slowly and apart from internal/rest, how a message looks on REST: what a case sends over
// REST is turned into the gRPC request, and what gRPC answers is turned into the body that REST should have shown.

// requestOf builds the gRPC request of a REST request. ok is false when gRPC has no way to say the same, as with a
// number where a text belongs.
func requestOf(b binding, path map[string]string, query url.Values, body []byte) (m proto.Message, ok bool) {
	m = newMessage(b.method.Input())
	top := m.ProtoReflect()
	if b.body != "" && len(bytes.TrimSpace(body)) > 0 {
		into := top
		if b.body != "*" {
			into = top.Mutable(top.Descriptor().Fields().ByName(protoreflect.Name(b.body))).Message()
		}
		if fill(into, body) != nil {
			return nil, false
		}
	}
	for name, values := range query {
		if f := fieldOf(top.Descriptor(), name); f != nil && fillText(top, f, values[len(values)-1]) != nil {
			return nil, false
		}
	}
	for name, value := range path {
		if f := fieldOf(top.Descriptor(), name); f != nil && fillText(top, f, value) != nil {
			return nil, false
		}
	}
	return m, true
}

func newMessage(d protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err)
	}
	return t.New().Interface()
}

func fieldOf(d protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	for i := range d.Fields().Len() {
		if f := d.Fields().Get(i); memberName(f) == name {
			return f
		}
	}
	return nil
}

// fill sets the fields that a JSON object names. Members that no field has are ignored.
func fill(m protoreflect.Message, text []byte) error {
	var members map[string]json.RawMessage
	if err := decodeJSON(text, &members); err != nil {
		return err
	}
	for name, value := range members {
		f := fieldOf(m.Descriptor(), name)
		if f == nil || jsonOf(f).GetNulls() {
			continue
		}
		if err := fillField(m, f, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func fillField(m protoreflect.Message, f protoreflect.FieldDescriptor, value json.RawMessage) error {
	isNull := string(value) == "null"
	if clear := clearField(m.Descriptor()); clear != nil && (isNull || f.IsList() && string(value) == "[]") {
		m.Mutable(clear).List().Append(protoreflect.ValueOfString(string(f.Name())))
		return nil
	}
	switch {
	case isNull && jsonOf(f).GetRejectNull():
		return fmt.Errorf("null")
	case isNull && jsonOf(f).GetRaw() != "any":
		return nil
	case jsonOf(f).GetRaw() != "":
		if jsonOf(f).GetRaw() == "object" && value[0] != '{' {
			return fmt.Errorf("no object")
		}
		m.Set(f, protoreflect.ValueOfString(string(value)))
	case f.IsMap():
		return fillMap(m.Mutable(f).Map(), f, value)
	case f.IsList():
		var items []json.RawMessage
		if err := decodeJSON(value, &items); err != nil {
			return err
		}
		for _, item := range items {
			v, err := scalar(f, item)
			if err != nil {
				return err
			}
			m.Mutable(f).List().Append(v)
		}
	case f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp":
	case f.Message() != nil:
		return fill(m.Mutable(f).Message(), value)
	default:
		v, err := scalar(f, value)
		if err != nil {
			return err
		}
		m.Set(f, v)
	}
	return nil
}

func fillMap(to protoreflect.Map, f protoreflect.FieldDescriptor, value json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := decodeJSON(value, &members); err != nil {
		return err
	}
	for key, text := range members {
		if c := text[0]; jsonOf(f).GetCoerce() && (c == 't' || c == 'f' || c == '-' || c >= '0' && c <= '9') {
			to.Set(protoreflect.ValueOfString(key).MapKey(), protoreflect.ValueOfString(string(text)))
			continue
		}
		v, err := scalar(f.MapValue(), text)
		if err != nil {
			return err
		}
		to.Set(protoreflect.ValueOfString(key).MapKey(), v)
	}
	return nil
}

func scalar(f protoreflect.FieldDescriptor, text json.RawMessage) (v protoreflect.Value, err error) {
	var s string
	var b bool
	var d float64
	var i int64
	switch f.Kind() {
	case protoreflect.StringKind:
		err = decodeJSON(text, &s)
		v = protoreflect.ValueOfString(s)
	case protoreflect.BoolKind:
		err = decodeJSON(text, &b)
		v = protoreflect.ValueOfBool(b)
	case protoreflect.DoubleKind:
		err = decodeJSON(text, &d)
		v = protoreflect.ValueOfFloat64(d)
	case protoreflect.Int32Kind:
		i, err = nearest(strconv.ParseInt(string(text), 10, 32))
		v = protoreflect.ValueOfInt32(int32(i))
	case protoreflect.Int64Kind:
		i, err = nearest(strconv.ParseInt(string(text), 10, 64))
		v = protoreflect.ValueOfInt64(i)
	case protoreflect.EnumKind:
		if i, err = strconv.ParseInt(string(text), 10, 32); err == nil { // as gRPC clients may
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(i)), nil
		}
		if err = decodeJSON(text, &s); err == nil {
			return enumNamed(f, s)
		}
	default:
		err = fmt.Errorf("kind %s", f.Kind())
	}
	if err == nil && string(text) == "null" {
		err = fmt.Errorf("null")
	}
	return v, err
}

// nearest takes a number beyond the field's range for the last one within, as REST does.
func nearest(i int64, err error) (int64, error) {
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return i, err
}

func enumNamed(f protoreflect.FieldDescriptor, text string) (protoreflect.Value, error) {
	for i := range f.Enum().Values().Len() {
		if v := f.Enum().Values().Get(i); textOf(v) == text && text != "" {
			return protoreflect.ValueOfEnum(v.Number()), nil
		}
	}
	return protoreflect.Value{}, fmt.Errorf("no value %q", text)
}

// fillText sets a field from a path or query.
func fillText(m protoreflect.Message, f protoreflect.FieldDescriptor, text string) error {
	if f.Kind() == protoreflect.StringKind {
		m.Set(f, protoreflect.ValueOfString(text))
		return nil
	}
	if f.Kind() == protoreflect.EnumKind {
		text = strconv.Quote(text)
	}
	v, err := scalar(f, json.RawMessage(text))
	if err == nil {
		m.Set(f, v)
	}
	return err
}

func clearField(d protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for i := range d.Fields().Len() {
		if jsonOf(d.Fields().Get(i)).GetNulls() {
			return d.Fields().Get(i)
		}
	}
	return nil
}

// bodyOf is the REST body of a gRPC answer.
func bodyOf(b binding, m proto.Message, publicURL string) any {
	s := shaper{publicURL}
	if b.responseBody != "" {
		f := m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(b.responseBody))
		return s.message(m.ProtoReflect().Get(f).Message())
	}
	body := s.message(m.ProtoReflect())
	if status := restOf(b.method).GetStatus(); status != 0 && !restOf(b.method).GetBare() {
		if created := restOf(b.method).GetCreatedField(); created != "" && body["data"].(map[string]any)[created] != true {
			status = http.StatusOK
		}
		body["status"] = json.Number(strconv.Itoa(int(status)))
	}
	return body
}

type shaper struct{ publicURL string }

func (s shaper) message(m protoreflect.Message) map[string]any {
	out := map[string]any{}
	nulls := proto.GetExtension(m.Descriptor().Options(), callwrightv1.E_Nulls).(bool)
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		o := jsonOf(f)
		switch {
		case o.GetNulls():
		case o.GetInline():
			for k, v := range s.message(m.Get(f).Message()) {
				out[k] = v
			}
		case f.HasPresence() && !m.Has(f):
			if nulls || o.GetEmitNull() {
				out[memberName(f)] = nil
			}
		case o.GetOmitEmpty() && !m.Has(f):
		case f.IsList():
			list := []any{}
			for j := range m.Get(f).List().Len() {
				list = append(list, s.value(f, m.Get(f).List().Get(j)))
			}
			out[memberName(f)] = list
		case f.IsMap():
			members := map[string]any{}
			m.Get(f).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				members[k.String()] = s.value(f.MapValue(), v)
				return true
			})
			out[memberName(f)] = members
		default:
			out[memberName(f)] = s.value(f, m.Get(f))
		}
	}
	return out
}

func (s shaper) value(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind:
		switch m := v.Message().Interface().(type) {
		case *timestamppb.Timestamp:
			return m.AsTime().Format("2006-01-02T15:04:05.000Z")
		case *structpb.Struct:
			text, _ := m.MarshalJSON()
			return readJSON(text)
		}
		return s.message(v.Message())
	case protoreflect.EnumKind:
		return textOf(f.Enum().Values().ByNumber(v.Enum()))
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return json.Number(strconv.FormatInt(v.Int(), 10))
	case protoreflect.DoubleKind:
		return json.Number(strconv.FormatFloat(v.Float(), 'f', -1, 64))
	case protoreflect.StringKind:
		if jsonOf(f).GetRaw() == "object" && v.String() == "" {
			return map[string]any{}
		}
		if jsonOf(f).GetRaw() != "" {
			return readJSON([]byte(v.String()))
		}
		if jsonOf(f).GetAddress() {
			return strings.TrimSuffix(s.publicURL+v.String(), "/")
		}
		return v.String()
	default:
		return v.Interface()
	}
}

// readJSON keeps numbers as they are written; what is no JSON becomes a text that says so and equals nothing.
func readJSON(text []byte) any {
	var v any
	if err := decodeJSON(text, &v); err != nil {
		return fmt.Sprintf("no JSON (%v): %q", err, text)
	}
	return v
}

// decodeJSON refuses anything behind the value.
func decodeJSON(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("text behind the value")
	}
	return nil
}
