// Package resttest holds requests and answers against the OpenAPI description that the program serves. It is for tests
// and knows nothing of ours: the description is all it goes by.
package resttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is a description, read strictly: what an answer shows beyond its schema counts as wrong, though clients are
// told to ignore it.
type Document struct {
	root      map[string]any
	compiling sync.Mutex // a compiler serves one at a time
	compiler  *jsonschema.Compiler
	paths     []string
}

const at = "openapi.json"

// Parse reads the description.
func Parse(text []byte) (*Document, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	d := &Document{root: v.(map[string]any), compiler: jsonschema.NewCompiler()}
	for _, s := range d.object("components", "schemas") {
		if s := s.(map[string]any); s["properties"] != nil {
			s["additionalProperties"] = false
		}
	}
	d.paths = slices.Sorted(maps.Keys(d.object("paths")))
	d.compiler.AssertFormat()
	return d, d.compiler.AddResource(at, d.root)
}

// object is what lies at a path, or nil.
func (d *Document) object(path ...string) map[string]any {
	m := d.root
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return d.resolved(m)
}

// resolved follows a reference.
func (d *Document) resolved(m map[string]any) map[string]any {
	if to, ok := m["$ref"].(string); ok {
		return d.object(strings.Split(strings.TrimPrefix(to, "#/"), "/")...)
	}
	return m
}

// Operation is one method on one path.
type Operation struct {
	Path, Verb string // /v1/call/{id}, get
	ID         string
	Public     bool
	Example    []byte // of the body; nil when it takes none
	InPath     []string
}

// Operations are all of them, by path and method.
func (d *Document) Operations() []Operation {
	var all []Operation
	for _, path := range d.paths {
		for _, verb := range slices.Sorted(maps.Keys(d.object("paths", path))) {
			o := d.object("paths", path, verb)
			op := Operation{Path: path, Verb: verb, ID: o["operationId"].(string)}
			security, given := o["security"].([]any)
			op.Public = given && len(security) == 0
			if media := d.object("paths", path, verb, "requestBody", "content", "application/json"); media != nil {
				op.Example, _ = json.Marshal(media["example"])
			}
			for _, segment := range strings.Split(path, "/") {
				if name, ok := strings.CutPrefix(segment, "{"); ok {
					op.InPath = append(op.InPath, strings.TrimSuffix(name, "}"))
				}
			}
			all = append(all, op)
		}
	}
	return all
}

// Schema is the schema of a component.
func (d *Document) Schema(name string) map[string]any { return d.object("components", "schemas", name) }

// Resolve follows a schema's reference, also one that may be null.
func (d *Document) Resolve(schema map[string]any) map[string]any {
	if choices, ok := schema["anyOf"].([]any); ok {
		schema = choices[0].(map[string]any)
	}
	return d.resolved(schema)
}

// Request says what is wrong with a request's body.
func (d *Document) Request(op Operation, body []byte) error {
	return d.fits(pointer("paths", op.Path, op.Verb, "requestBody", "content", "application/json", "schema"), body)
}

// Answer says what is wrong with an answer: a status, type or body that the operation does not have, or a header that is
// missing. What has no operation must be refused as an unknown path or a wrong method.
func (d *Document) Answer(method, target string, status int, header http.Header, body []byte) error {
	if method == http.MethodOptions {
		return nil
	}
	path, known := d.find(target)
	verb := strings.ToLower(method)
	if method == http.MethodHead {
		verb = "get"
	}
	if !known || d.object("paths", path, verb) == nil {
		if status != http.StatusNotFound && status != http.StatusMethodNotAllowed && status != http.StatusBadRequest &&
			status != http.StatusTooManyRequests {
			return fmt.Errorf("%s %s is not described and answered %d", method, target, status)
		}
		return d.fits(pointer("components", "schemas", "Failure"), body)
	}
	where := []string{"paths", path, verb, "responses", strconv.Itoa(status)}
	answer := d.object(where...)
	if answer == nil {
		return fmt.Errorf("%s %s can not answer %d: %s", method, path, status, body)
	}
	headers, _ := answer["headers"].(map[string]any)
	for _, name := range []string{"Service-Version", "X-Request-Id"} {
		if headers[name] != nil && header.Get(name) == "" {
			return fmt.Errorf("%s %s: %d has no header %s", method, path, status, name)
		}
	}
	content, _ := answer["content"].(map[string]any)
	if content == nil || method == http.MethodHead {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if content[kind] == nil {
		return fmt.Errorf("%s %s: %d can not be of type %q", method, path, status, kind)
	}
	if kind != "application/json" {
		return nil
	}
	if to, ok := d.raw(where...)["$ref"].(string); ok {
		where = strings.Split(strings.TrimPrefix(to, "#/"), "/")
	}
	if err := d.fits(pointer(append(where, "content", kind, "schema")...), body); err != nil {
		return fmt.Errorf("%s %s: %d: %w\n%s", method, path, status, err, body)
	}
	return nil
}

// raw is what lies at a path, references and all.
func (d *Document) raw(path ...string) map[string]any {
	m := d.root
	for _, name := range path {
		m, _ = m[name].(map[string]any)
	}
	return m
}

// find is the template that a request's path fits.
func (d *Document) find(target string) (string, bool) {
	path, _, _ := strings.Cut(target, "?")
	for _, path := range []string{path, prefixed(path)} {
		if slices.Contains(d.paths, path) {
			return path, true
		}
		for _, template := range d.paths {
			if matches(template, path) {
				return template, true
			}
		}
	}
	return "", false
}

// prefixed is the path behind one that answers without /v1 too. spec: Endpoints.
func prefixed(path string) string {
	for _, short := range []string{"/call", "/contact", "/campaign", "/agent-builder", "/agent/onboarding"} {
		if path == short || strings.HasPrefix(path, short+"/") {
			return "/v1" + path
		}
	}
	return path
}

// matches says whether a path fits a template.
func matches(template, path string) bool {
	want, have := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		anything := strings.HasPrefix(want[i], "{") && have[i] != "" && !strings.Contains(strings.ToLower(have[i]), "%2f")
		if !anything && want[i] != have[i] {
			return false
		}
	}
	return true
}

func pointer(path ...string) string {
	p := at + "#"
	for _, name := range path {
		p += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return p
}

// fits holds a body against the schema at a pointer.
func (d *Document) fits(pointer string, body []byte) error {
	d.compiling.Lock()
	schema, err := d.compiler.Compile(pointer)
	d.compiling.Unlock()
	if err != nil {
		return fmt.Errorf("compile %s: %w", pointer, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("no JSON: %w", err)
	}
	if err := schema.Validate(v); err != nil {
		var invalid *jsonschema.ValidationError
		if errors.As(err, &invalid) {
			return errors.New(strings.TrimSpace(invalid.Error()))
		}
		return err
	}
	return nil
}

// Parameter is what a path, query or header may say.
type Parameter struct {
	Name, In string
	Schema   map[string]any
}

// Parameters are those of an operation.
func (d *Document) Parameters(op Operation) []Parameter {
	list, _ := d.object("paths", op.Path, op.Verb)["parameters"].([]any)
	var all []Parameter
	for _, p := range list {
		m := d.resolved(p.(map[string]any))
		one := Parameter{Name: m["name"].(string), In: m["in"].(string)}
		if one.Schema, _ = m["schema"].(map[string]any); one.Schema == nil {
			one.Schema = m["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
		}
		all = append(all, one)
	}
	return all
}

// AnswerExamples are the examples of an operation's answers by status.
func (d *Document) AnswerExamples(op Operation) map[int][]byte {
	all := map[int][]byte{}
	for status := range d.object("paths", op.Path, op.Verb, "responses") {
		media := d.object("paths", op.Path, op.Verb, "responses", status, "content", "application/json")
		if n, err := strconv.Atoi(status); err == nil && media != nil {
			all[n], _ = json.Marshal(media["example"])
		}
	}
	return all
}
