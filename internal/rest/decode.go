package rest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/relvacode/iso8601"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/callwright/callwright/internal/fault"
)

// decoder reads JSON into a message.
//
// Members that the message does not have are skipped (clients may be newer). A member given twice counts as given last.
// null is absent unless the field says reject_null. A number beyond the range of its field becomes the nearest one the
// field can hold: every rule has bounds of its own, and says them. A wrong JSON type is a fault whose message starts with
// the member's path.
type decoder struct {
	cursor
	path []byte
	code string // error_code of the member around
}

// decode reads a checked JSON object into m.
func decode(b []byte, m protoreflect.Message) *fault.Error {
	d := decoder{cursor: cursor{b: b}, path: make([]byte, 0, 64)}
	if d.peek() != '{' {
		return fault.Invalidf("body must be an object")
	}
	return d.message(m)
}

// wrong is the fault of a value of the wrong type or form at the current path.
func (d *decoder) wrong(want string) *fault.Error {
	code := d.code
	if code == "" {
		code = "validation_failed"
	}
	path := strings.TrimPrefix(string(d.path), ".")
	if len(path) > 200 { // a key may be as long as the body
		path = strings.ToValidUTF8(path[:200], "") + "…"
	}
	if path == "" {
		path = "body"
	}
	return fault.New(fault.Invalid, code, "%s %s", path, want)
}

func (d *decoder) message(m protoreflect.Message) *fault.Error {
	p := planOf(m.Descriptor())
	d.i++
	for d.more('}') {
		name := d.key()
		in, f := find(m, p, name)
		if f == nil {
			d.skip()
			continue
		}
		at, code := len(d.path), d.code
		d.path = append(append(d.path, '.'), name...)
		if f.code != "" {
			d.code = f.code
		}
		if err := d.member(in, f); err != nil {
			return err
		}
		d.path, d.code = d.path[:at], code
	}
	return nil
}

// find is the member of that name, in the message or in one whose members stand among its own.
func find(m protoreflect.Message, p *plan, name string) (protoreflect.Message, *member) {
	if f, ok := p.byName[name]; ok {
		return m, f
	}
	for _, f := range p.inlines {
		if _, ok := planOf(f.fd.Message()).byName[name]; ok {
			inner := m.Mutable(f.fd).Message()
			return find(inner, planOf(f.fd.Message()), name)
		}
	}
	return nil, nil
}

// member reads one member's value.
func (d *decoder) member(m protoreflect.Message, f *member) *fault.Error {
	first := d.peek()
	if first == 'n' {
		if f.rejectNull {
			return d.wrong("must not be null")
		}
		d.skip()
		m.Clear(f.fd)
		noteNull(m, f, true)
		return nil
	}
	m.Clear(f.fd)
	switch f.shape {
	case shapeList:
		err := d.list(m, f)
		noteNull(m, f, !m.Has(f.fd))
		return err
	case shapeMap:
		noteNull(m, f, false)
		return d.entries(m, f)
	case shapeMessage:
		noteNull(m, f, false)
		if first != '{' {
			return d.wrong("must be an object")
		}
		return d.message(m.Mutable(f.fd).Message())
	}
	v, err := d.value(f, f.shape, func() protoreflect.Value { return m.NewField(f.fd) })
	if err != nil {
		return err
	}
	m.Set(f.fd, v)
	noteNull(m, f, false)
	return nil
}

// noteNull keeps the field that lists a message's nulls, where it has one.
func noteNull(m protoreflect.Message, f *member, null bool) {
	nulls := planOf(m.Descriptor()).nulls
	if nulls == nil || !null && !m.Has(nulls) {
		return
	}
	names := make([]string, 0, 1)
	l := m.Get(nulls).List()
	for i := range l.Len() {
		names = append(names, l.Get(i).String())
	}
	name := f.fd.TextName()
	names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	if null {
		names = append(names, name)
	}
	m.Clear(nulls)
	for _, n := range names {
		m.Mutable(nulls).List().Append(protoreflect.ValueOfString(n))
	}
}

func (d *decoder) list(m protoreflect.Message, f *member) *fault.Error {
	if d.peek() != '[' {
		return d.wrong("must be an array")
	}
	d.i++
	var l protoreflect.List
	for n := 0; d.more(']'); n++ {
		if l == nil {
			l = m.Mutable(f.fd).List()
		}
		at := len(d.path)
		d.path = append(strconv.AppendInt(append(d.path, '['), int64(n), 10), ']')
		v, err := d.value(f, f.elem, l.NewElement)
		if err != nil {
			return err
		}
		l.Append(v)
		d.path = d.path[:at]
	}
	return nil
}

func (d *decoder) entries(m protoreflect.Message, f *member) *fault.Error {
	if d.peek() != '{' {
		return d.wrong("must be an object")
	}
	d.i++
	var entries protoreflect.Map
	for d.more('}') {
		key := d.key()
		if entries == nil {
			entries = m.Mutable(f.fd).Map()
		}
		at := len(d.path)
		d.path = append(append(d.path, '.'), key...)
		v, err := d.entry(f, entries)
		if err != nil {
			return err
		}
		entries.Set(protoreflect.ValueOfString(key).MapKey(), v)
		d.path = d.path[:at]
	}
	return nil
}

// entry reads one value of a map. With coerce a number or boolean is the text it is written as.
func (d *decoder) entry(f *member, m protoreflect.Map) (protoreflect.Value, *fault.Error) {
	if !f.coerce {
		return d.value(f, f.elem, m.NewValue)
	}
	switch d.peek() {
	case '{', '[', 'n':
		return protoreflect.Value{}, d.wrong("must be a string, number or boolean")
	case '"':
		return protoreflect.ValueOfString(d.text()), nil
	}
	return protoreflect.ValueOfString(string(d.skip())), nil
}

// value reads one value that is no list or map; fresh makes an empty one of the field's message type.
func (d *decoder) value(f *member, s shape, fresh func() protoreflect.Value) (protoreflect.Value, *fault.Error) {
	first := d.peek()
	switch s {
	case shapeMessage:
		v := fresh()
		if first != '{' {
			return v, d.wrong("must be an object")
		}
		return v, d.message(v.Message())
	case shapeRaw:
		if f.object && first != '{' {
			return protoreflect.Value{}, d.wrong("must be an object")
		}
		return protoreflect.ValueOfString(string(d.skip())), nil
	case shapeStruct:
		return d.free(fresh().Message())
	case shapeBool:
		if first != 't' && first != 'f' {
			return protoreflect.Value{}, d.wrong("must be a boolean")
		}
		d.skip()
		return protoreflect.ValueOfBool(first == 't'), nil
	case shapeInt, shapeUint, shapeFloat:
		want := "must be an integer"
		if s == shapeFloat {
			want = "must be a number"
		}
		if first != '-' && (first < '0' || first > '9') {
			return protoreflect.Value{}, d.wrong(want)
		}
	default:
		if first != '"' {
			return protoreflect.Value{}, d.wrong(wantedText(f, s))
		}
		return d.fromText(f, s, d.text())
	}
	return d.fromText(f, s, string(d.skip()))
}

// free reads a well-known type that holds any JSON; like is an empty one. Its numbers are doubles.
func (d *decoder) free(like protoreflect.Message) (protoreflect.Value, *fault.Error) {
	var into protoreflect.ProtoMessage
	first := d.peek()
	var any any
	err := json.Unmarshal(d.skip(), &any)
	value, verr := structpb.NewValue(any)
	switch like.Descriptor().Name() {
	case "Struct":
		if first != '{' {
			return protoreflect.Value{}, d.wrong("must be an object")
		}
		into = value.GetStructValue()
	case "ListValue":
		if first != '[' {
			return protoreflect.Value{}, d.wrong("must be an array")
		}
		into = value.GetListValue()
	default:
		into = value
	}
	if err != nil || verr != nil {
		return protoreflect.Value{}, d.wrong("has a number that is out of range")
	}
	return protoreflect.ValueOfMessage(into.ProtoReflect()), nil
}

// wantedText says what a value that JSON shows as a string must be.
func wantedText(f *member, s shape) string {
	switch s {
	case shapeEnum:
		return f.wanted
	case shapeTime:
		return "must be an ISO 8601 time"
	case shapeBytes:
		return "must be a base64 string"
	}
	return "must be a string"
}

// fromText reads a value from the text of a JSON string or number, or of a query parameter.
func (d *decoder) fromText(f *member, s shape, text string) (v protoreflect.Value, err *fault.Error) {
	switch s {
	case shapeString, shapeRaw:
		return protoreflect.ValueOfString(text), nil
	case shapeBool:
		if text != "true" && text != "false" {
			return v, d.wrong("must be a boolean")
		}
		return protoreflect.ValueOfBool(text == "true"), nil
	case shapeInt, shapeUint:
		n, ok := integer(text)
		if !ok {
			return v, d.wrong("must be an integer")
		}
		return fitted(f.fd, n), nil
	case shapeFloat:
		n, perr := strconv.ParseFloat(text, 64)
		if perr != nil || !decimal(text) {
			return v, d.wrong("must be a number")
		}
		if f.fd.Kind() == protoreflect.FloatKind {
			return protoreflect.ValueOfFloat32(float32(n)), nil
		}
		return protoreflect.ValueOfFloat64(n), nil
	case shapeEnum:
		n, ok := f.values[text]
		if !ok {
			return v, d.wrong(f.wanted)
		}
		return protoreflect.ValueOfEnum(n), nil
	case shapeTime:
		t, perr := iso8601.ParseString(text)
		ts := timestamppb.New(t)
		if perr != nil || ts.CheckValid() != nil {
			return v, d.wrong("must be an ISO 8601 time")
		}
		return protoreflect.ValueOfMessage(ts.ProtoReflect()), nil
	case shapeBytes:
		b, perr := base64.RawStdEncoding.DecodeString(
			strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "=")))
		if perr != nil {
			return v, d.wrong("must be a base64 string")
		}
		return protoreflect.ValueOfBytes(b), nil
	}
	return v, d.wrong("can not be given")
}

// integer reads a JSON number that is whole, however it is written: 1, 1.0, 1e3. Beyond 64 bits it is the nearest that
// fits.
func integer(text string) (int64, bool) {
	whole, fraction, dotted := strings.Cut(text, ".")
	if dotted && fraction != "" && strings.Trim(fraction, "0") == "" {
		text = whole
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil {
		return n, !strings.HasPrefix(text, "+")
	}
	if errors.Is(err, strconv.ErrRange) {
		return n, true
	}
	if !decimal(text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), f != math.Trunc(f):
		return 0, false
	case f >= math.MaxInt64:
		return math.MaxInt64, true
	case f <= math.MinInt64:
		return math.MinInt64, true
	}
	return int64(f), true
}

// decimal is false for what strconv reads and JSON does not know: hexadecimal, Inf, NaN, underscores.
func decimal(text string) bool { return strings.Trim(text, "0123456789+-.eE") == "" }

// fitted is n in the type of the field, or the nearest that fits.
func fitted(fd protoreflect.FieldDescriptor, n int64) protoreflect.Value {
	if fd.IsMap() {
		fd = fd.MapValue()
	}
	switch fd.Kind() {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(min(max(n, math.MinInt32), math.MaxInt32)))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(min(max(n, 0), math.MaxUint32)))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(max(n, 0)))
	}
	return protoreflect.ValueOfInt64(n)
}
