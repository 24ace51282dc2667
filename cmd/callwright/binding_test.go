package main_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// binding is where REST offers an RPC. It is read from rest.yaml, not from the program, so that the two check each other.
type binding struct {
	method       protoreflect.MethodDescriptor
	verb         string
	template     string
	body         string
	responseBody string
}

// byHand are the RPCs that REST offers without the gateway.
var byHand = []binding{{
	method:   methodNamed("callwright.v1.CallService.StreamRecording"),
	verb:     "GET",
	template: "/v1/call/{id}/recording",
}}

// unprefixed are the paths that answer without /v1 too (CONTRACT.md §1, Paths).
var unprefixed = []string{"/call", "/contact", "/campaign", "/agent-builder", "/agent/onboarding"}

func readBindings(t *testing.T) []binding {
	t.Helper()
	text, err := os.ReadFile("../../proto/callwright/v1/rest.yaml")
	require.NoError(t, err)
	var file struct {
		HTTP struct {
			Rules []map[string]any `yaml:"rules"`
		} `yaml:"http"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	all := append([]binding(nil), byHand...)
	for _, rule := range file.HTTP.Rules {
		b := binding{method: methodNamed(rule["selector"].(string))}
		if b.method == nil {
			continue // buf refuses a selector that does not exist; here the generated code is older than the file
		}
		b.body, _ = rule["body"].(string)
		b.responseBody, _ = rule["response_body"].(string)
		for _, verb := range []string{"get", "put", "post", "delete", "patch"} {
			if path, ok := rule[verb].(string); ok {
				b.verb, b.template = strings.ToUpper(verb), path
			}
		}
		require.NotEmpty(t, b.verb, "%v has no path", rule)
		all = append(all, b)
	}
	return all
}

func methodNamed(selector string) protoreflect.MethodDescriptor {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(selector))
	if err != nil {
		return nil
	}
	return d.(protoreflect.MethodDescriptor)
}

// fullMethod is /package.Service/Method.
func fullMethod(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

// eachMethod visits every RPC of our package.
func eachMethod(visit func(protoreflect.MethodDescriptor)) {
	protoregistry.GlobalFiles.RangeFilesByPackage("callwright.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				visit(file.Services().Get(i).Methods().Get(j))
			}
		}
		return true
	})
}

// resolve finds what a request line names and the values in its path.
func resolve(all []binding, verb, path string) (binding, map[string]string, bool) {
	for _, prefix := range unprefixed {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			path = "/v1" + path
			break
		}
	}
	for _, b := range all {
		if values, ok := b.match(path); ok && b.verb == verb {
			return b, values, true
		}
	}
	return binding{}, nil, false
}

func (b binding) match(path string) (map[string]string, bool) {
	want, have := strings.Split(b.template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return nil, false
	}
	values := map[string]string{}
	for i, segment := range want {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			text, err := url.PathUnescape(have[i])
			if err != nil || text == "" {
				return nil, false
			}
			values[strings.TrimSuffix(name, "}")] = text
		} else if segment != have[i] {
			return nil, false
		}
	}
	return values, true
}

// path puts values into the template.
func (b binding) path(values map[string]string) string {
	segments := strings.Split(b.template, "/")
	for i, segment := range segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			segments[i] = url.PathEscape(values[strings.TrimSuffix(name, "}")])
		}
	}
	return strings.Join(segments, "/")
}

func authOf(m protoreflect.MethodDescriptor) *callwrightv1.Auth {
	if !proto.HasExtension(m.Options(), callwrightv1.E_Auth) {
		return nil
	}
	return proto.GetExtension(m.Options(), callwrightv1.E_Auth).(*callwrightv1.Auth)
}

func restOf(m protoreflect.MethodDescriptor) *callwrightv1.Rest {
	r, _ := proto.GetExtension(m.Options(), callwrightv1.E_Rest).(*callwrightv1.Rest)
	return r
}

func jsonOf(f protoreflect.FieldDescriptor) *callwrightv1.Json {
	j, _ := proto.GetExtension(f.Options(), callwrightv1.E_Json).(*callwrightv1.Json)
	return j
}

func refOf(f protoreflect.FieldDescriptor) callwrightv1.Ref {
	r, _ := proto.GetExtension(f.Options(), callwrightv1.E_Ref).(callwrightv1.Ref)
	return r
}

func textOf(v protoreflect.EnumValueDescriptor) string {
	s, _ := proto.GetExtension(v.Options(), callwrightv1.E_Text).(string)
	return s
}

func memberName(f protoreflect.FieldDescriptor) string {
	if name := jsonOf(f).GetName(); name != "" {
		return name
	}
	return string(f.Name())
}
