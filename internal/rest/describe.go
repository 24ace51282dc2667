package rest

import (
	_ "embed"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// describer writes the OpenAPI 3.1 description of this package's surface. All that it says comes from where the program
// has it too: the descriptors and options of the protos, the HTTP rules that the gateway was generated from, and the plans
// that the codec reads and writes by. What is left for words stands in reference.md and in the protos' comments.
type describer struct {
	remarks map[string]string
	schemas object // components, in the order of their first use
	answers object // of operations that fail
	done    map[string]bool
}

//go:embed reference.md
var referenceText string

// describe is the OpenAPI document; the same for every process of a build.
func describe(address string) []byte {
	d := &describer{remarks: callwrightv1.Remarks(), done: map[string]bool{}}
	if address == "" {
		address = "/"
	}
	tags, paths := d.paths()
	d.failure()
	doc := object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", "Callwright"},
			{"version", Version},
			{"summary", "AI voice agents that place and answer telephone calls."},
			{"description", strings.TrimSpace(referenceText)},
		}},
		{"servers", []any{object{{"url", address}}}},
		{"security", []any{object{{"bearer", []any{}}}}},
		{"tags", tags},
		{"paths", paths},
		{"components", object{
			{"securitySchemes", object{{"bearer", object{
				{"type", "http"}, {"scheme", "bearer"},
				{"description", "An API key, or a user token (three segments separated by dots)."},
			}}}},
			{"parameters", requestHeaders},
			{"headers", answerHeaders},
			{"responses", d.answers},
			{"schemas", d.schemas},
		}},
	}
	return appendJSON(nil, doc)
}

// paths are the operations in the order of rest.yaml, and the tags that group them: one for each service.
func (d *describer) paths() (tags []any, paths object) {
	add := func(path, verb string, op object) {
		i := slices.IndexFunc(paths, func(p pair) bool { return p.name == path })
		if i < 0 {
			i, paths = len(paths), append(paths, pair{path, object(nil)})
		}
		paths[i].value = append(paths[i].value.(object), pair{strings.ToLower(verb), op})
	}
	for _, rule := range callwrightv1.RESTRules {
		m := methodOf(rule.Method)
		if m == nil {
			continue // TestEveryBoundMethodIsDescribed finds it
		}
		if tag := tagOf(m); !d.done["tag "+tag] {
			d.done["tag "+tag] = true
			tags = append(tags, object{{"name", tag}, {"description", d.remarks[string(m.Parent().FullName())]}})
		}
		add(rule.Path, rule.Verb, d.operation(m, rule))
		if rule.Method == "callwright.v1.CallService.GetCall" {
			add(recordingPath, http.MethodGet, d.recording())
		}
	}
	tags = append(tags, object{{"name", "Health"}, {"description", "For what watches the service."}})
	for _, p := range healthPaths {
		add(p.path, http.MethodGet, d.health(p.id, p.summary, p.unready))
	}
	return tags, paths
}

func methodOf(name string) protoreflect.MethodDescriptor {
	d, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	m, _ := d.(protoreflect.MethodDescriptor)
	return m
}

// tagOf is the service's name for people: PhoneNumberService is "Phone number".
func tagOf(m protoreflect.MethodDescriptor) string {
	words := ""
	for i, r := range strings.TrimSuffix(string(m.Parent().Name()), "Service") {
		if i > 0 && unicode.IsUpper(r) {
			words += " "
			r = unicode.ToLower(r)
		}
		words += string(r)
	}
	return words
}

// operation describes one bound method.
func (d *describer) operation(m protoreflect.MethodDescriptor, rule callwrightv1.RESTRule) object {
	envelope, _ := proto.GetExtension(m.Options(), callwrightv1.E_Rest).(*callwrightv1.Rest)
	auth, _ := proto.GetExtension(m.Options(), callwrightv1.E_Auth).(*callwrightv1.Auth)
	id := []rune(m.Name())
	id[0] = unicode.ToLower(id[0])
	summary, more := sentences(d.remarks[string(m.FullName())])
	op := object{{"operationId", string(id)}, {"summary", summary}}
	op = append(op, pair{"description", strings.Join(nonEmpty(more, whoMay(auth), alsoAt(rule.Path)), "\n\n")})
	op = append(op, pair{"tags", []any{tagOf(m)}})
	if auth.GetPublic() {
		op = append(op, pair{"security", []any{}})
	}
	op = append(op, pair{"parameters", d.parameters(m.Input(), rule, envelope)})
	if rule.Body != "" {
		op = append(op, pair{"requestBody", d.requestBody(m.Input(), rule)})
	}
	refusals := refusalsOf(m, rule, envelope, auth)
	return append(op, pair{"responses", append(d.success(m, rule, envelope), d.refusals(refusals)...)})
}

// sentences splits a comment behind its first sentence, which loses its full stop.
func sentences(text string) (first, rest string) {
	first, rest, _ = strings.Cut(text, ". ")
	return strings.TrimSuffix(first, "."), rest
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func whoMay(a *callwrightv1.Auth) string {
	switch {
	case a.GetPublic():
		return "Needs no credential."
	case a.GetUserOnly():
		return "Needs a person's token with the scope `" + scopeText(a) + "`; API keys are refused."
	}
	return "Needs the scope `" + scopeText(a) + "`."
}

func scopeText(a *callwrightv1.Auth) string {
	v := a.GetScope().Descriptor().Values().ByNumber(a.GetScope().Number())
	text, _ := proto.GetExtension(v.Options(), callwrightv1.E_Text).(string)
	return text
}

// alsoAt names the path that the specification writes without /v1.
func alsoAt(path string) string {
	short := strings.TrimPrefix(path, "/v1")
	if canonical(short) != path {
		return ""
	}
	return "Also at `" + short + "`."
}

// parameters are the path's, the query's and the headers'.
func (d *describer) parameters(in protoreflect.MessageDescriptor, rule callwrightv1.RESTRule, o *callwrightv1.Rest) []any {
	var all []any
	for _, m := range planOf(in).members {
		place := "query"
		if strings.Contains(rule.Path, "{"+string(m.fd.Name())+"}") {
			place = "path"
		} else if rule.Body != "" {
			continue // in the body; no method has fields beside it
		}
		p := object{{"name", m.name}, {"in", place}}
		if text := d.remarks[string(m.fd.FullName())]; text != "" {
			p = append(p, pair{"description", text})
		}
		p = append(p, pair{"required", place == "path" || boundsOf(m.fd).GetRequired()})
		schema := d.value(m, inQuery)
		if m.shape == shapeRaw {
			p = append(p, pair{"content", object{{"application/json", object{{"schema", schema}}}}})
		} else {
			p = append(p, pair{"schema", schema})
		}
		all = append(all, p)
	}
	if o.GetIdempotencyKey() {
		all = append(all, ref("parameters", "Idempotency-Key"))
	}
	return append(all, ref("parameters", "Service-Version"))
}

func (d *describer) requestBody(in protoreflect.MessageDescriptor, rule callwrightv1.RESTRule) object {
	md, at := bodyMessage(in, rule)
	name := string(in.Name())
	d.component(name, func() object { return d.members(md, at, pathFields(rule.Path)) })
	example := exampleOf(md, at, pathFields(rule.Path))
	schema := d.schemas.get(name).(object)
	return object{
		{"required", schema.get("required") != nil},
		{"content", object{{"application/json", object{{"schema", ref("schemas", name)}, {"example", example}}}}},
	}
}

// bodyMessage is the message that a request's body holds, and how its members are to be read: a PUT of a record is partial.
func bodyMessage(in protoreflect.MessageDescriptor, rule callwrightv1.RESTRule) (protoreflect.MessageDescriptor, side) {
	if rule.Body == "*" {
		return in, inCreate
	}
	md := in.Fields().ByName(protoreflect.Name(rule.Body)).Message()
	if rule.Verb == http.MethodPut {
		return md, inUpdate
	}
	return md, inCreate
}

// pathFields are the names in a path's braces.
func pathFields(path string) []string {
	var names []string
	for _, s := range strings.Split(path, "/") {
		if name, ok := strings.CutPrefix(s, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// success are the answers of a method that did what it was asked.
func (d *describer) success(m protoreflect.MethodDescriptor, rule callwrightv1.RESTRule, o *callwrightv1.Rest) object {
	statuses := []int{http.StatusOK}
	if s := int(o.GetStatus()); s != 0 {
		statuses[0] = s
	}
	if o.GetCreatedField() != "" {
		statuses = append(statuses, http.StatusOK)
	}
	out := m.Output()
	if rule.ResponseBody != "" {
		out = out.Fields().ByName(protoreflect.Name(rule.ResponseBody)).Message()
	}
	enveloped := o.GetStatus() != 0 && !o.GetBare()
	d.component(string(out.Name()), func() object {
		s := d.members(out, inAnswer, nil)
		if enveloped {
			s = withStatus(s, statuses)
		}
		return s
	})
	headers := commonHeaders()
	if o.GetIdempotencyKey() {
		headers = append(headers, headerRefs("Idempotency-Replayed")...)
	}
	var all object
	for _, status := range statuses {
		example := exampleOf(out, inAnswer, nil)
		if enveloped {
			example = append(object{{"status", status}}, example...)
			example = withCreated(example, o, status)
		}
		all = append(all, pair{strconv.Itoa(status), object{
			{"description", http.StatusText(status)},
			{"headers", headers},
			{"content", object{{"application/json", object{{"schema", ref("schemas", string(out.Name()))}, {"example", example}}}}},
		}})
	}
	return all
}

// withStatus puts the envelope's member before the others.
func withStatus(schema object, statuses []int) object {
	status := object{{"type", "integer"}, {"description", "The HTTP status."}}
	if len(statuses) == 1 {
		status = append(status, pair{"const", statuses[0]})
	} else {
		status = append(status, pair{"enum", []any{statuses[0], statuses[1]}})
	}
	for i, p := range schema {
		switch p.name {
		case "properties":
			schema[i].value = append(object{{"status", status}}, p.value.(object)...)
		case "required":
			schema[i].value = append([]any{"status"}, p.value.([]any)...)
			return schema
		}
	}
	return append(schema, pair{"required", []any{"status"}})
}

// withCreated makes an example say whether it was created, as its status does.
func withCreated(example object, o *callwrightv1.Rest, status int) object {
	if o.GetCreatedField() == "" {
		return example
	}
	for i, p := range example {
		if p.name == "data" {
			data := slices.DeleteFunc(p.value.(object), func(p pair) bool { return p.name == o.GetCreatedField() })
			example[i].value = append(data, pair{o.GetCreatedField(), status != http.StatusOK})
		}
	}
	return example
}
