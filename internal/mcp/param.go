package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/relvacode/iso8601"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"google.golang.org/protobuf/proto"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// kind is what a parameter holds.
type kind int

const (
	kindText kind = iota
	kindUUID
	kindTime
	kindInteger
	kindBoolean
	kindEnum
)

// param is one parameter of a tool. Its name is the request's field of that name; schema and check are made from the
// same line. spec: Endpoints, Tool server (MCP), the table of tools.
type param struct {
	name     string
	about    string
	kind     kind
	required bool
	// Integers: inclusive bounds. Text: max is the most characters.
	min, max int64
	// What applies when it is absent, for the schema.
	preset any
}

// limits of integers without an upper bound of their own.
const noMax = math.MaxInt32

func (p param) schema(field protoreflect.FieldDescriptor) map[string]any {
	s := map[string]any{"description": p.about}
	switch p.kind {
	case kindText:
		s["type"], s["maxLength"] = "string", p.max
	case kindUUID:
		s["type"], s["format"] = "string", "uuid"
	case kindTime:
		s["type"] = "string"
	case kindInteger:
		s["type"], s["minimum"] = "integer", p.min
		if p.max != noMax {
			s["maximum"] = p.max
		}
	case kindBoolean:
		s["type"] = "boolean"
	case kindEnum:
		s["type"], s["enum"] = "string", enumTexts(field.Enum())
	}
	if p.preset != nil {
		s["default"] = p.preset
	}
	return s
}

// decode fills a request from a tool's arguments. Arguments the tool does not have are ignored, as REST ignores unknown
// members; null counts as absent.
func decode(params []param, raw json.RawMessage, into proto.Message) error {
	args, err := object(raw)
	if err != nil {
		return err
	}
	m := into.ProtoReflect()
	for _, p := range params {
		v, given := args[p.name]
		if !given || v == nil {
			if p.required {
				return fault.Invalidf("%s is required", p.name)
			}
			continue
		}
		field := m.Descriptor().Fields().ByName(protoreflect.Name(p.name))
		value, err := p.value(v, field)
		if err != nil {
			return err
		}
		m.Set(field, value)
	}
	return nil
}

func object(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var args map[string]any
	if err := d.Decode(&args); err != nil {
		return nil, fault.Invalidf("arguments must be an object")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fault.Invalidf("arguments must be one object")
	}
	return args, nil
}

func (p param) value(v any, field protoreflect.FieldDescriptor) (protoreflect.Value, error) {
	switch p.kind {
	case kindInteger:
		n, err := p.integer(v)
		return protoreflect.ValueOfInt32(n), err
	case kindBoolean:
		b, ok := v.(bool)
		if !ok {
			return protoreflect.Value{}, fault.Invalidf("%s must be true or false", p.name)
		}
		return protoreflect.ValueOfBool(b), nil
	}
	text, ok := v.(string)
	if !ok {
		return protoreflect.Value{}, fault.Invalidf("%s must be a string", p.name)
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return protoreflect.Value{}, fault.Invalidf("%s must be text without NUL characters", p.name)
	}
	switch p.kind {
	case kindUUID:
		if len(text) != 36 || uuid.Validate(text) != nil {
			return protoreflect.Value{}, fault.Invalidf("%s must be a UUID", p.name)
		}
	case kindTime:
		if _, err := iso8601.ParseString(text); err != nil {
			return protoreflect.Value{}, fault.Invalidf("%s must be an ISO 8601 time or date", p.name)
		}
	case kindEnum:
		return enumValue(p.name, text, field.Enum())
	default:
		if int64(utf8.RuneCountInString(text)) > p.max {
			return protoreflect.Value{}, fault.Invalidf("%s must have at most %d characters", p.name, p.max)
		}
	}
	return protoreflect.ValueOfString(text), nil
}

func (p param) integer(v any) (int32, error) {
	wrong := fault.Invalidf("%s must be an integer", p.name)
	number, ok := v.(json.Number)
	if !ok {
		return 0, wrong
	}
	f, err := number.Float64()
	if err != nil || f != math.Trunc(f) {
		return 0, wrong
	}
	switch {
	case p.max == noMax && f < float64(p.min):
		return 0, fault.Invalidf("%s must be at least %d", p.name, p.min)
	case f < float64(p.min) || (p.max != noMax && f > float64(p.max)):
		return 0, fault.Invalidf("%s must be %d to %d", p.name, p.min, p.max)
	}
	return int32(min(f, noMax)), nil
}

func enumTexts(e protoreflect.EnumDescriptor) []string {
	var texts []string
	for i := range e.Values().Len() {
		if t := enumText(e.Values().Get(i)); t != "" {
			texts = append(texts, t)
		}
	}
	return texts
}

func enumText(v protoreflect.EnumValueDescriptor) string {
	options, _ := v.Options().(*descriptorpb.EnumValueOptions)
	text, _ := proto.GetExtension(options, callwrightv1.E_Text).(string)
	return text
}

func enumValue(name, text string, e protoreflect.EnumDescriptor) (protoreflect.Value, error) {
	for i := range e.Values().Len() {
		if v := e.Values().Get(i); text != "" && enumText(v) == text {
			return protoreflect.ValueOfEnum(v.Number()), nil
		}
	}
	return protoreflect.Value{}, fault.Invalidf("%s must be one of %s", name, quoted(enumTexts(e)))
}

func quoted(texts []string) string {
	texts = slices.Clone(texts)
	for i, t := range texts {
		texts[i] = fmt.Sprintf("%q", t)
	}
	return strings.Join(texts, ", ")
}
