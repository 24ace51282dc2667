package api_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/callwright/callwright/ent"
	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/api"
)

// given are the fields of an agent that the service gives, and the one that lists what an update clears.
var given = map[string]bool{"id": true, "workspace_id": true, "created_at": true, "updated_at": true, "clear": true}

func TestEveryFieldOfAnAgentHasASettingAndTheOtherWayRound(t *testing.T) {
	settings := map[string]bool{}
	for i := range reflect.TypeFor[agent.Settings]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[agent.Settings]().Field(i).Tag.Get("json"), ",")
		settings[name] = true
	}
	fields := (&callwrightv1.Agent{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		require.NotEqual(t, given[name], settings[name], "%s belongs to the service or to the settings", name)
		delete(settings, name)
	}
	require.Empty(t, settings, "settings that the API does not have")
}

func TestAFieldOnOneSideOnlyIsFoundAtStart(t *testing.T) {
	type message struct {
		A *string `json:"a,omitempty"`
		B *int32  `json:"b,omitempty"`
	}
	type fits struct {
		A *string `json:"a,omitempty"`
		B *int    `json:"b,omitempty"`
	}
	type less struct {
		A *string `json:"a,omitempty"`
	}
	type more struct {
		fits
		C *bool `json:"c,omitempty"`
	}
	type other struct {
		A *string `json:"a,omitempty"`
		B *int64  `json:"b,omitempty"`
	}
	require.NotPanics(t, func() { api.Twins[message, fits]() })
	require.NotPanics(t, func() { api.Twins[message, less]("b") })
	require.Panics(t, func() { api.Twins[message, less]() })
	require.Panics(t, func() { api.Twins[message, more]() })
	require.Panics(t, func() { api.Twins[message, other]() })
}

// full is an agent with a value in every field.
func full(t testing.TB) *callwrightv1.Agent {
	in := &callwrightv1.Agent{}
	m := in.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		switch {
		case given[string(f.Name())]:
		case f.IsMap():
			m.Mutable(f).Map().Set(protoreflect.ValueOfString("key").MapKey(), protoreflect.ValueOfString(string(f.Name())))
		case f.IsList():
			m.Mutable(f).List().Append(protoreflect.ValueOfString(string(f.Name())))
		case f.Kind() == protoreflect.StringKind:
			m.Set(f, protoreflect.ValueOfString(string(f.Name())))
		case f.Kind() == protoreflect.BoolKind:
			m.Set(f, protoreflect.ValueOfBool(i%2 == 0))
		case f.Kind() == protoreflect.Int32Kind:
			m.Set(f, protoreflect.ValueOfInt32(int32(i)))
		case f.Kind() == protoreflect.DoubleKind:
			m.Set(f, protoreflect.ValueOfFloat64(float64(i)/64))
		default:
			require.Fail(t, "a field of a new kind", f.FullName())
		}
	}
	return in
}

// row is how the rules would keep an agent.
func row(t testing.TB, s agent.Settings) *ent.Agent {
	document, err := json.Marshal(s)
	require.NoError(t, err)
	return &ent.Agent{ID: uuid.New(), WorkspaceID: uuid.New(), Name: *s.Name, Status: *s.Status, Modality: *s.Modality,
		Language: *s.Language, Settings: document}
}

func TestEveryFieldOfAnAgentGoesInAndComesOut(t *testing.T) {
	in := full(t)
	out, err := api.EncodeAgent(row(t, api.DecodeAgent(in)))
	require.NoError(t, err)
	fields := in.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !given[string(f.Name())] {
			require.True(t, in.ProtoReflect().Get(f).Equal(out.ProtoReflect().Get(f)), "%s: %v, then %v", f.Name(),
				in.ProtoReflect().Get(f), out.ProtoReflect().Get(f))
		}
	}
}

func TestAbsentFieldsStayAbsent(t *testing.T) {
	require.Equal(t, agent.Settings{}, api.DecodeAgent(nil))
	require.Equal(t, agent.Settings{}, api.DecodeAgent(&callwrightv1.Agent{}))
	name, empty := "A", ""
	out, err := api.EncodeAgent(row(t, agent.Settings{Name: &name, Status: &empty, Modality: &empty, Language: &empty}))
	require.NoError(t, err)
	out.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		switch f.Name() {
		case "name", "status", "modality", "language":
		default:
			require.True(t, given[string(f.Name())], "%s appeared", f.Name())
		}
		return true
	})
}

func TestWhatTheServiceGivesIsNotRead(t *testing.T) {
	require.Equal(t, agent.Settings{}, api.DecodeAgent(&callwrightv1.Agent{Id: "x", WorkspaceId: "y", Clear: []string{"z"}}))
}

// A page of agents has up to 200 of these.
func BenchmarkEncodeAgent(b *testing.B) {
	r := row(b, api.DecodeAgent(full(b)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := api.EncodeAgent(r); err != nil {
			b.Fatal(err)
		}
	}
}
