package rest_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/rest"
)

// schema has a message for each option, so that the codec is proven before a service uses it.
const schema = `
name: "codec_test.proto" syntax: "proto3" package: "codec.test"
dependency: "google/protobuf/timestamp.proto" dependency: "google/protobuf/struct.proto"
dependency: "callwright/v1/rest.proto"
enum_type { name: "Colour"
  value { name: "COLOUR_UNSPECIFIED" number: 0 }
  value { name: "COLOUR_RED" number: 1 options { [callwright.v1.text]: "dark-red" } }
  value { name: "COLOUR_BLUE" number: 2 } }
message_type { name: "Tag"
  field { name: "id" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "emoji" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL proto3_optional: true oneof_index: 0
    options { [callwright.v1.json] { emit_null: true reject_null: true } } }
  field { name: "created_by" number: 3 type: TYPE_STRING label: LABEL_OPTIONAL options { [callwright.v1.json] { emit_null: true } } }
  field { name: "cascaded_count" number: 4 type: TYPE_INT64 label: LABEL_OPTIONAL proto3_optional: true oneof_index: 1 }
  field { name: "created" number: 5 type: TYPE_BOOL label: LABEL_OPTIONAL }
  field { name: "warnings" number: 6 type: TYPE_STRING label: LABEL_REPEATED options { [callwright.v1.json] { omit_empty: true } } }
  oneof_decl { name: "_emoji" } oneof_decl { name: "_cascaded_count" } }
message_type { name: "TagAnswer"
  field { name: "data" number: 1 type: TYPE_MESSAGE type_name: ".codec.test.Tag" label: LABEL_OPTIONAL } }
message_type { name: "Contact"
  field { name: "phone" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
  field { name: "variables" number: 2 type: TYPE_MESSAGE type_name: ".codec.test.Contact.VariablesEntry" label: LABEL_REPEATED
    options { [callwright.v1.json] { coerce: true error_code: "invalid_variables" } } }
  field { name: "custom_fields" number: 3 type: TYPE_MESSAGE type_name: ".google.protobuf.Struct" label: LABEL_OPTIONAL }
  nested_type { name: "VariablesEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL } } }
message_type { name: "All"
  field { name: "contacts" number: 1 type: TYPE_MESSAGE type_name: ".codec.test.Contact" label: LABEL_REPEATED }
  field { name: "colour" number: 2 type: TYPE_ENUM type_name: ".codec.test.Colour" label: LABEL_OPTIONAL }
  field { name: "colours" number: 3 type: TYPE_ENUM type_name: ".codec.test.Colour" label: LABEL_REPEATED }
  field { name: "at" number: 4 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
  field { name: "blob" number: 5 type: TYPE_BYTES label: LABEL_OPTIONAL }
  field { name: "big" number: 6 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "u" number: 7 type: TYPE_UINT32 label: LABEL_OPTIONAL }
  field { name: "f" number: 8 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "any" number: 9 type: TYPE_STRING label: LABEL_OPTIONAL proto3_optional: true oneof_index: 1
    options { [callwright.v1.json] { raw: "any" } } }
  field { name: "raws" number: 10 type: TYPE_STRING label: LABEL_REPEATED options { [callwright.v1.json] { raw: "object" } } }
  field { name: "left" number: 11 type: TYPE_STRING label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "right" number: 12 type: TYPE_INT32 label: LABEL_OPTIONAL oneof_index: 0 }
  field { name: "tag" number: 13 type: TYPE_MESSAGE type_name: ".codec.test.Tag" label: LABEL_OPTIONAL
    options { [callwright.v1.json] { inline: true } } }
  field { name: "value" number: 14 type: TYPE_MESSAGE type_name: ".google.protobuf.Value" label: LABEL_OPTIONAL }
  field { name: "strange_name" number: 15 type: TYPE_STRING label: LABEL_OPTIONAL
    options { [callwright.v1.json] { name: "strangeName" omit_empty: true } } }
  oneof_decl { name: "side" } oneof_decl { name: "_any" } }
`

var file = sync.OnceValues(func() (protoreflect.FileDescriptor, error) {
	var f descriptorpb.FileDescriptorProto
	if err := prototext.Unmarshal([]byte(schema), &f); err != nil {
		return nil, err
	}
	return protodesc.NewFile(&f, protoregistry.GlobalFiles)
})

// message makes an empty message of the schema.
func message(t testing.TB, name protoreflect.Name) *dynamicpb.Message {
	t.Helper()
	fd, err := file()
	require.NoError(t, err)
	return dynamicpb.NewMessage(fd.Messages().ByName(name))
}

func encode(t testing.TB, o *v1.Rest, m proto.Message) (string, int) {
	t.Helper()
	b, status, err := rest.Encode(o, m, "https://x")
	require.NoError(t, err)
	return string(b), status
}

func TestTheEnvelopeTellsCreatedFromFound(t *testing.T) {
	o := &v1.Rest{Status: 201, CreatedField: "created"}
	m := message(t, "TagAnswer")
	require.NoError(t, rest.Decode(`{"data":{"id":"1","created":true}}`, m))
	body, status := encode(t, o, m)
	require.Equal(t, 201, status)
	require.Equal(t, `{"status":201,"data":{"id":"1","emoji":null,"created_by":null,"created":true}}`, body)

	require.NoError(t, rest.Decode(`{"data":{"id":"1","created":false,"emoji":"x","cascaded_count":0,"warnings":["w"]}}`, m))
	body, status = encode(t, o, m)
	require.Equal(t, 200, status)
	require.Equal(t, `{"status":200,"data":{"id":"1","emoji":"x","created_by":null,"cascaded_count":0,"created":false,"warnings":["w"]}}`, body)

	body, status = encode(t, nil, message(t, "TagAnswer"))
	require.Zero(t, status, "bare")
	require.Equal(t, `{}`, body)
	body, _ = encode(t, &v1.Rest{Status: 200}, message(t, "TagAnswer"))
	require.Equal(t, `{"status":200}`, body)
}

func TestWhatIsReadIsShownAgain(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                    `{"contacts":[],"colours":[],"blob":"","big":0,"u":0,"f":0,"raws":[]}`,
		`{"colour":"dark-red"}`: `{"contacts":[],"colour":"dark-red","colours":[],"blob":"","big":0,"u":0,"f":0,"raws":[]}`,
		`{"colours":["COLOUR_BLUE","dark-red"],"big":9223372036854775807,"u":4294967295}`: `{"contacts":[],"colours":["COLOUR_BLUE","dark-red"],"blob":"","big":9223372036854775807,"u":4294967295,"f":0,"raws":[]}`,
		`{"f":1.50,"blob":"AP8="}`:                        `{"contacts":[],"colours":[],"blob":"AP8=","big":0,"u":0,"f":1.5,"raws":[]}`,
		`{"f":1e21,"blob":"_w"}`:                          `{"contacts":[],"colours":[],"blob":"/w==","big":0,"u":0,"f":1e+21,"raws":[]}`,
		`{"any": [1, null] ,"raws":[{"a": 1}, {}]}`:       `{"contacts":[],"colours":[],"blob":"","big":0,"u":0,"f":0,"any":[1, null],"raws":[{"a": 1},{}]}`,
		`{"left":"a","right":2}`:                          `{"contacts":[],"colours":[],"blob":"","big":0,"u":0,"f":0,"raws":[],"right":2}`,
		`{"right":2,"left":""}`:                           `{"contacts":[],"colours":[],"blob":"","big":0,"u":0,"f":0,"raws":[],"left":""}`,
		`{"strangeName":"s","strange_name":"t"}`:          `{"contacts":[],"colours":[],"blob":"","big":0,"u":0,"f":0,"raws":[],"strangeName":"s"}`,
		`{"id":"i","emoji":"e","tag":{"id":"no"}}`:        `{"contacts":[],"colours":[],"blob":"","big":0,"u":0,"f":0,"raws":[],"id":"i","emoji":"e","created_by":null,"created":false}`,
		`{"value":{"b":[true,"\u0001\"\\\n\t"],"a":1e3}}`: `{"contacts":[],"colours":[],"blob":"","big":0,"u":0,"f":0,"raws":[],"value":{"a":1000,"b":[true,"\u0001\"\\\n\t"]}}`,
		`{"contacts":[{"phone":"1","variables":{"z":1.10,"a":"x"},"custom_fields":{"k":{"z":1,"a":null}}},{}]}`: `{"contacts":[{"phone":"1","variables":{"a":"x","z":"1.10"},"custom_fields":{"k":{"a":null,"z":1}}},` +
			`{"phone":"","variables":{}}],"colours":[],"blob":"","big":0,"u":0,"f":0,"raws":[]}`,
	} {
		m := message(t, "All")
		require.NoError(t, rest.Decode(in, m), in)
		got, _ := encode(t, nil, m)
		require.Equal(t, want, got, in)
		again := message(t, "All")
		require.NoError(t, rest.Decode(got, again))
		require.True(t, proto.Equal(m, again), "what is shown can be sent back")
	}
}

func TestTimes(t *testing.T) {
	for in, want := range map[string]string{
		"2026-11-20T09:41:07.120Z":     "2026-11-20T09:41:07.120Z",
		"2026-11-20T09:41:07.1209999Z": "2026-11-20T09:41:07.120Z",
		"2026-11-20T09:41:07Z":         "2026-11-20T09:41:07.000Z",
		"2026-11-20":                   "2026-11-20T00:00:00.000Z",
		"2026-11-20T09:41:07+02:00":    "2026-11-20T07:41:07.000Z",
		"2026-11-20T09:41":             "2026-11-20T09:41:00.000Z",
		"1969-12-31T23:59:59.9999Z":    "1969-12-31T23:59:59.999Z",
		"0001-01-01T00:00:00Z":         "0001-01-01T00:00:00.000Z",
	} {
		m := message(t, "All")
		require.NoError(t, rest.Decode(`{"at":"`+in+`"}`, m), in)
		got, _ := encode(t, nil, m)
		require.Contains(t, got, `"at":"`+want+`"`)
	}
	for _, in := range []string{`""`, `"yesterday"`, `"2026-13-01"`, `"2026-11-20T25:00:00Z"`, `1700000000`, `"20000-01-01"`, `{}`} {
		require.ErrorContains(t, rest.Decode(`{"at":`+in+`}`, message(t, "All")), "at must be an ISO 8601 time", in)
	}
}

func TestWrongTypesNameTheirPath(t *testing.T) {
	for in, want := range map[string]string{
		`{"contacts":[{"phone":5}]}`:                          "validation_failed: contacts[0].phone must be a string",
		`{"contacts":[{},{"variables":{"a":[]}}]}`:            "invalid_variables: contacts[1].variables.a must be a string, number or boolean",
		`{"contacts":[{"variables":{"a":1}},{"phone":true}]}`: "validation_failed: contacts[1].phone must be a string",
		`{"contacts":{}}`:                                     "validation_failed: contacts must be an array",
		`{"contacts":[null]}`:                                 "validation_failed: contacts[0] must be an object",
		`{"contacts":[{"custom_fields":[]}]}`:                 "validation_failed: contacts[0].custom_fields must be an object",
		`{"contacts":[{"custom_fields":{"a":1e999}}]}`:        "validation_failed: contacts[0].custom_fields",
		`{"colour":"red"}`:                                    "validation_failed: colour must be one of dark-red, COLOUR_BLUE",
		`{"colour":1}`:                                        "validation_failed: colour must be one of dark-red, COLOUR_BLUE",
		`{"colour":""}`:                                       "validation_failed: colour must be one of dark-red, COLOUR_BLUE",
		`{"colours":["dark-red","x"]}`:                        "validation_failed: colours[1] must be one of dark-red, COLOUR_BLUE",
		`{"blob":"*"}`:                                        "validation_failed: blob must be a base64 string",
		`{"blob":1}`:                                          "validation_failed: blob must be a base64 string",
		`{"big":1.5}`:                                         "validation_failed: big must be an integer",
		`{"emoji":null}`:                                      "validation_failed: emoji must not be null",
		`{"emoji":5}`:                                         "validation_failed: emoji must be a string",
		`{"raws":[1]}`:                                        "validation_failed: raws[0] must be an object",
	} {
		require.ErrorContains(t, rest.Decode(in, message(t, "All")), want, in)
	}
	long := make([]byte, 1000)
	for i := range long {
		long[i] = 'k'
	}
	err := rest.Decode(`{"contacts":[{"variables":{"`+string(long)+`":{}}}]}`, message(t, "All"))
	require.Less(t, len(err.Error()), 300, "a key may be as long as the body; the message may not")
}

func TestListsInQueries(t *testing.T) {
	m := message(t, "All")
	require.NoError(t, rest.DecodeQuery("colours=dark-red&colours[]=COLOUR_BLUE&at=2026-01-01&f=1.5&contacts=x&contacts[0][phone]=1&any[b]=1&any[a]=2", m))
	got, _ := encode(t, nil, m)
	require.Equal(t, `{"contacts":[],"colours":["dark-red","COLOUR_BLUE"],"at":"2026-01-01T00:00:00.000Z","blob":"","big":0,"u":0,"f":1.5,`+
		`"any":{"b":"1","a":"2"},"raws":[]}`, got)
	require.ErrorContains(t, rest.DecodeQuery("colours=x", m), "colours must be one of")
	require.ErrorContains(t, rest.DecodeQuery("f=NaN", m), "f must be a number")
	require.ErrorContains(t, rest.DecodeQuery("created=yes", message(t, "Tag")), "created must be a boolean")
}

// Everything that callwright.v1 declares must be of a kind that the codec knows; maps have text keys, because JSON's do.
func TestTheCodecKnowsEveryFieldOfTheAPI(t *testing.T) {
	n := 0
	protoregistry.GlobalFiles.RangeFilesByPackage("callwright.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			md := f.Messages().Get(i)
			for j := range md.Fields().Len() {
				fd := md.Fields().Get(j)
				n++
				if fd.IsMap() {
					require.Equal(t, protoreflect.StringKind, fd.MapKey().Kind(), fd.FullName())
				}
				if m := fd.Message(); m != nil && m.ParentFile().Package() == "google.protobuf" {
					require.Contains(t, []protoreflect.Name{"Timestamp", "Struct", "Value", "ListValue"}, m.Name(), fd.FullName())
				}
			}
		}
		return true
	})
	require.NotZero(t, n)
}
