package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/rest"
	"github.com/callwright/callwright/internal/rest/resttest"
)

// document is the description as it is served.
func document(t testing.TB) *resttest.Document {
	t.Helper()
	w := httptest.NewRecorder()
	newHandler(t).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	require.Equal(t, 200, w.Code, w.Body.String())
	d, err := resttest.Parse(w.Body.Bytes())
	require.NoError(t, err)
	return d
}

// bound is a rule of rest.yaml with the method it names and the messages that travel.
type bound struct {
	v1.RESTRule
	method   protoreflect.MethodDescriptor
	envelope *v1.Rest
}

func allBound(t testing.TB) (all []bound) {
	t.Helper()
	for _, r := range v1.RESTRules {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(r.Method))
		require.NoError(t, err, "run make generate")
		m := d.(protoreflect.MethodDescriptor)
		o, _ := proto.GetExtension(m.Options(), v1.E_Rest).(*v1.Rest)
		all = append(all, bound{r, m, o})
	}
	require.NotEmpty(t, all)
	return all
}

// answer makes an empty message of what the method's body shows.
func (b bound) answer(t testing.TB) proto.Message {
	md := b.method.Output()
	if b.ResponseBody != "" {
		md = md.Fields().ByName(protoreflect.Name(b.ResponseBody)).Message()
	}
	return newMessage(t, md)
}

// request makes an empty message of what the method's request body holds.
func (b bound) request(t testing.TB) proto.Message {
	md := b.method.Input()
	if b.Body != "*" {
		md = md.Fields().ByName(protoreflect.Name(b.Body)).Message()
	}
	return newMessage(t, md)
}

func newMessage(t testing.TB, md protoreflect.MessageDescriptor) proto.Message {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName())
	require.NoError(t, err)
	return mt.New().Interface()
}

func (b bound) operation(t testing.TB, d *resttest.Document) resttest.Operation {
	t.Helper()
	all := d.Operations()
	i := slices.IndexFunc(all, func(o resttest.Operation) bool {
		return o.Path == b.Path && strings.EqualFold(o.Verb, b.Verb)
	})
	require.GreaterOrEqual(t, i, 0, "%s %s is not described", b.Verb, b.Path)
	return all[i]
}

func TestEveryBoundMethodIsDescribed(t *testing.T) {
	d := document(t)
	ids := map[string]bool{}
	for _, o := range d.Operations() {
		require.False(t, ids[o.ID], "two operations are called %s", o.ID)
		ids[o.ID] = true
	}
	for _, b := range allBound(t) {
		o := b.operation(t, d)
		require.True(t, strings.EqualFold(o.ID, string(b.method.Name())), o.ID)
		a, _ := proto.GetExtension(b.method.Options(), v1.E_Auth).(*v1.Auth)
		require.Equal(t, a.GetPublic(), o.Public, o.ID)
	}
	require.True(t, ids["getRecording"])
	require.Len(t, ids, len(v1.RESTRules)+3, "the recording, healthz and readyz are no methods of rest.yaml")
}

func TestEveryOperationAndServiceHasWords(t *testing.T) {
	remarks := v1.Remarks()
	for _, b := range allBound(t) {
		require.NotEmpty(t, remarks[b.Method], "%s has no comment", b.Method)
		require.NotEmpty(t, remarks[string(b.method.Parent().FullName())], "%s has no comment", b.method.Parent().FullName())
	}
}

// Bounds stand in options: a comment that says one is a second place that can go wrong.
func TestBoundsStandInOptionsAndNotInComments(t *testing.T) {
	said := regexp.MustCompile(`(?i)\b(up to|at most) [\d,]+ (characters|texts|keys|code points)|\b[\d,]+ to [\d,]+ ?(characters|[.;])|` +
		`\babsent: (true|false|[\d]+)\.|given by the service|\brequired( on create)?\.`)
	for name, remark := range v1.Remarks() {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		require.NoError(t, err, "run make generate")
		if _, ok := d.(protoreflect.FieldDescriptor); ok && d.ParentFile().Path() != "callwright/v1/rest.proto" {
			require.NotRegexp(t, said, remark, "%s: say it as (bounds)", name)
		}
	}
}

// What the codec writes for a filled and for an empty answer is what the schema says, and the schema says nothing that the
// codec does not write.
func TestWhatTheCodecWritesIsWhatTheSchemaSays(t *testing.T) {
	d := document(t)
	header := http.Header{"Content-Type": {"application/json"}, "Service-Version": {"x"}, "X-Request-Id": {"x"}}
	for _, b := range allBound(t) {
		for _, full := range []bool{true, false} {
			m := b.answer(t)
			fill(m.ProtoReflect(), full)
			body, status, err := rest.Encode(b.envelope, m, "https://x")
			require.NoError(t, err)
			if status == 0 {
				status = 200
			}
			require.NoError(t, d.Answer(b.Verb, b.Path, status, header, body))
			if full {
				var value any
				require.NoError(t, json.Unmarshal(body, &value))
				sameMembers(t, d, string(m.ProtoReflect().Descriptor().Name()), d.Schema(string(m.ProtoReflect().Descriptor().Name())), value)
			}
		}
	}
}

// fill gives every field a value that fits its bounds; without full only those that services always set.
func fill(m protoreflect.Message, full bool) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		b, _ := proto.GetExtension(f.Options(), v1.E_Bounds).(*v1.Bounds)
		always := !f.HasOptionalKeyword() && !f.IsList() && !f.IsMap()
		isTime := f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp"
		if nullable, _ := proto.GetExtension(m.Descriptor().Options(), v1.E_Nulls).(bool); nullable && f.Message() != nil && !isTime {
			always = false
		}
		if j, _ := proto.GetExtension(f.Options(), v1.E_Json).(*v1.Json); j.GetOmitEmpty() {
			always = false
		} else if j.GetInline() {
			always = true
		}
		switch {
		case !full && !always:
		case f.IsList():
			l := m.Mutable(f).List()
			if f.Message() != nil {
				fill(l.AppendMutable().Message(), full)
			} else {
				l.Append(scalar(f, b))
			}
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("key").MapKey(), scalar(f.MapValue(), b))
		case f.Message() != nil && f.Message().ParentFile().Package() == "google.protobuf":
			m.Mutable(f)
		case f.Message() != nil:
			fill(m.Mutable(f).Message(), full)
		default:
			m.Set(f, scalar(f, b))
		}
	}
}

func scalar(f protoreflect.FieldDescriptor, b *v1.Bounds) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(f.Enum().Values().Get(1).Number())
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(b.GetMin()))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1 << 40)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(b.GetMin())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{255})
	}
	return protoreflect.ValueOfString(wording(f, b))
}

func wording(f protoreflect.FieldDescriptor, b *v1.Bounds) string {
	j, _ := proto.GetExtension(f.Options(), v1.E_Json).(*v1.Json)
	r, _ := proto.GetExtension(f.Options(), v1.E_Ref).(v1.Ref)
	var own string
	switch _ = json.Unmarshal([]byte(b.GetExample()), &own); {
	case j.GetRaw() != "":
		return `{"a":[1]}`
	case j.GetAddress():
		return "/v1/call"
	case r != 0:
		return "0198c1f2-7d3e-7a41-9b52-000000000000"
	case len(b.GetOneOf()) > 0:
		return b.GetOneOf()[0]
	case own != "":
		return own
	}
	if text, ok := map[string]string{"email": "a@example.com", "uri": "https://example.com", "date": "2026-01-02"}[b.GetFormat()]; ok {
		return text
	}
	return strings.Repeat("x", max(1, int(b.GetMinLength())))
}

// sameMembers holds the members that a schema names against those that are there.
func sameMembers(t *testing.T, d *resttest.Document, at string, schema map[string]any, value any) {
	t.Helper()
	schema = d.Resolve(schema)
	switch v := value.(type) {
	case map[string]any:
		properties, ok := schema["properties"].(map[string]any)
		if !ok {
			return
		}
		for name, inner := range properties {
			require.Contains(t, v, name, "%s is described and not written", at)
			sameMembers(t, d, at+"."+name, inner.(map[string]any), v[name])
		}
		require.Len(t, v, len(properties), at)
	case []any:
		for _, item := range v {
			sameMembers(t, d, at+"[]", schema["items"].(map[string]any), item)
		}
	}
}

// probes are a value of each JSON type.
var probes = map[string]string{
	"null": `null`, "boolean": `true`, "integer": `7`, "number": `1.5`, "string": `"7"`, "array": `[]`, "object": `{}`,
}

// What the decoder takes is what the schema says, for each member and each type of JSON.
func TestWhatTheCodecReadsIsWhatTheSchemaSays(t *testing.T) {
	d := document(t)
	for _, b := range allBound(t) {
		if b.Body == "" {
			continue
		}
		schema := d.Schema(string(b.method.Input().Name()))
		require.NotNil(t, schema, b.Method)
		required, _ := schema["required"].([]any)
		for name, s := range schema["properties"].(map[string]any) {
			readsAs(t, d, b, name, s.(map[string]any), slices.Contains(required, any(name)))
		}
	}
}

func readsAs(t *testing.T, d *resttest.Document, b bound, name string, schema map[string]any, required bool) {
	t.Helper()
	choices := []map[string]any{schema}
	if of, ok := schema["anyOf"].([]any); ok {
		choices = []map[string]any{d.Resolve(schema), of[1].(map[string]any)}
	} else {
		choices[0] = d.Resolve(schema)
	}
	for kind, value := range probes {
		wanted := slices.ContainsFunc(choices, func(s map[string]any) bool { return hasType(s, kind) })
		if kind == "null" && required && !wanted {
			continue // it counts as absent, which the rule refuses
		}
		for _, text := range fitting(choices[0], kind, value) {
			err := rest.Decode(`{"`+name+`":`+text+`}`, b.request(t))
			if wanted {
				require.NoError(t, err, "%s: %s is %s by its schema", b.Method, name, kind)
			} else {
				require.Error(t, err, "%s: %s can not be %s by its schema", b.Method, name, kind)
			}
		}
	}
}

// fitting are the values to try: of an enum its members, of what the codec reads as a time a time.
func fitting(schema map[string]any, kind, value string) []string {
	if kind != "string" {
		return []string{value}
	}
	texts, _ := schema["enum"].([]any)
	if texts == nil {
		texts, _ = schema["examples"].([]any)
	}
	var all []string
	for _, v := range texts {
		if s, ok := v.(string); ok {
			all = append(all, `"`+s+`"`)
		}
	}
	if all == nil {
		all = []string{value}
	}
	return all
}

func hasType(schema map[string]any, kind string) bool {
	types, ok := schema["type"].([]any)
	if one, single := schema["type"].(string); single {
		types, ok = []any{one}, true
	}
	return !ok || slices.Contains(types, any(kind)) || kind == "integer" && slices.Contains(types, any("number"))
}

func TestWhatTheCodecReadsOfAQueryIsWhatTheParameterSays(t *testing.T) {
	d := document(t)
	n := 0
	for _, b := range allBound(t) {
		if b.Body != "" {
			continue
		}
		for _, p := range d.Parameters(b.operation(t, d)) {
			if p.In != "query" {
				continue
			}
			n++
			m := newMessage(t, b.method.Input())
			require.True(t, m.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(p.Name)) != nil || p.Name == "orderBy", p.Name)
			for text, good := range queryProbes(p.Schema) {
				err := rest.DecodeQuery(p.Name+"="+url.QueryEscape(text), m)
				require.Equal(t, good, err == nil, "%s: %s=%s: %v", b.Method, p.Name, text, err)
			}
		}
	}
	require.NotZero(t, n)
}

func queryProbes(schema map[string]any) map[string]bool {
	if texts, ok := schema["enum"].([]any); ok && schema["type"] == "string" {
		all := map[string]bool{}
		for _, text := range texts {
			all[text.(string)] = true
		}
		return all
	}
	switch schema["type"] {
	case "integer":
		return map[string]bool{"7": true, "x": false, "1.5": false, "": false}
	case "boolean":
		return map[string]bool{"true": true, "false": true, "yes": false, "1": false}
	case "object":
		return map[string]bool{`{"a":1}`: true, `[`: false, `[1]`: false}
	case "string":
		return map[string]bool{"x": true}
	}
	return map[string]bool{`{"a":1}`: true, `[1]`: true, `[`: false}
}

// An example is a body of its operation: the decoder takes it, the schema holds it, and read and written again an answer's
// example is the same.
func TestExamplesAreBodies(t *testing.T) {
	d := document(t)
	header := http.Header{"Content-Type": {"application/json"}, "Service-Version": {"x"}, "X-Request-Id": {"x"}}
	for _, b := range allBound(t) {
		o := b.operation(t, d)
		if b.Body != "" {
			require.NoError(t, rest.Decode(string(o.Example), b.request(t)), o.ID)
			require.NoError(t, d.Request(o, o.Example), o.ID)
		}
		for status, example := range d.AnswerExamples(o) {
			require.NoError(t, d.Answer(b.Verb, b.Path, status, header, example), o.ID)
			if status >= 300 {
				continue
			}
			m := b.answer(t)
			require.NoError(t, rest.Decode(string(example), m), o.ID)
			again, _, err := rest.Encode(b.envelope, m, "")
			require.NoError(t, err)
			require.JSONEq(t, string(example), string(again), o.ID)
		}
	}
}

func TestTheDescriptionIsTheSameEveryTime(t *testing.T) {
	_, first := start(t).do("GET", "/openapi.json", "")
	_, second := start(t).do("GET", "/openapi.json", "")
	require.Equal(t, first, second)
	require.Contains(t, first, `"servers":[{"url":"https://cw.example"}]`)
	_, none := start(t, func(c *rest.Config) { c.PublicURL = "" }).do("GET", "/openapi.json", "")
	require.Contains(t, none, `"servers":[{"url":"/"}]`)
}

// Readers differ in which of two equal members counts; encoding/json would take the last and say nothing.
func TestNoMemberOfTheDescriptionIsThereTwice(t *testing.T) {
	_, text := start(t).do("GET", "/openapi.json", "")
	dec := json.NewDecoder(strings.NewReader(text))
	type level struct {
		seen  map[string]bool // nil in an array
		value bool            // the next token is a value
		in    string
		at    string
	}
	stack := []*level{{}}
	for dec.More() || len(stack) > 1 {
		token, err := dec.Token()
		require.NoError(t, err)
		top := stack[len(stack)-1]
		if name, ok := token.(string); ok && top.seen != nil && !top.value {
			require.False(t, top.seen[name], "%s has %s twice", top.in, name)
			top.seen[name], top.value = true, true
			top.at = top.in + " " + name
			continue
		}
		top.value = false
		switch token {
		case json.Delim('{'):
			stack = append(stack, &level{seen: map[string]bool{}, in: top.at})
		case json.Delim('['):
			stack = append(stack, &level{in: top.at, at: top.at})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
	}
}
