package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Schema is a JSON schema for strict answers: objects say additionalProperties false and require every property (what
// may be missing is a union with null). Known are type (one or a list), enum, properties, required, items, anyOf and the
// words for readers, title and description.
type Schema struct {
	// Name is the server's handle for it: letters, digits, _ and -, at most 64.
	Name string
	JSON json.RawMessage
}

// shape is a compiled schema.
type shape struct {
	types      []string
	enum       []any
	properties map[string]*shape
	required   []string
	items      *shape
	anyOf      []*shape
}

// Check says what makes a schema unfit for strict answers. Complete checks too; this is for tests of those who build one.
func (s Schema) Check() error {
	_, err := s.compile()
	return err
}

func (s Schema) compile() (*shape, error) {
	if s.Name == "" || identifier(s.Name) == "" || strings.Contains(s.Name, ".") {
		return nil, fmt.Errorf("schema name %q is not one", s.Name)
	}
	sh, err := compile(s.JSON, "$")
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", s.Name, err)
	}
	if !slices.Equal(sh.types, []string{"object"}) {
		return nil, fmt.Errorf("schema %s: the top must be an object", s.Name)
	}
	return sh, nil
}

func compile(text json.RawMessage, at string) (*shape, error) {
	var s struct {
		Type                 json.RawMessage
		Enum                 []any
		Properties           map[string]json.RawMessage
		Required             []string
		AdditionalProperties *bool
		Items                json.RawMessage
		AnyOf                []json.RawMessage
		Title, Description   string
	}
	if err := unmarshal(text, &s, true); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	sh := &shape{enum: s.Enum, required: s.Required}
	if len(s.Type) > 0 && json.Unmarshal(s.Type, &sh.types) != nil {
		sh.types = make([]string, 1)
		if err := json.Unmarshal(s.Type, &sh.types[0]); err != nil {
			return nil, fmt.Errorf("%s: type is neither a text nor a list", at)
		}
	}
	for _, name := range sh.types {
		if !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, name) {
			return nil, fmt.Errorf("%s: unknown type %q", at, name)
		}
	}
	if len(sh.types) == 0 && len(s.AnyOf) == 0 && len(s.Enum) == 0 {
		return nil, fmt.Errorf("%s: no type", at)
	}
	for i, text := range s.AnyOf {
		option, err := compile(text, fmt.Sprintf("%s.anyOf[%d]", at, i))
		if err != nil {
			return nil, err
		}
		sh.anyOf = append(sh.anyOf, option)
	}
	if slices.Contains(sh.types, "array") {
		var err error
		if sh.items, err = compile(s.Items, at+"[]"); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(sh.types, "object") {
		return sh, nil
	}
	if s.AdditionalProperties == nil || *s.AdditionalProperties {
		return nil, fmt.Errorf("%s: additionalProperties must be false", at)
	}
	return sh, sh.compileProperties(s.Properties, at)
}

func (sh *shape) compileProperties(properties map[string]json.RawMessage, at string) error {
	sh.properties = make(map[string]*shape, len(properties))
	for name, text := range properties {
		property, err := compile(text, at+"."+name)
		if err != nil {
			return err
		}
		if !slices.Contains(sh.required, name) {
			return fmt.Errorf("%s.%s: must be required; make it a union with null", at, name)
		}
		sh.properties[name] = property
	}
	if len(sh.required) != len(properties) {
		return fmt.Errorf("%s: requires what it has no property for", at)
	}
	return nil
}

// parse reads a model's text as JSON of this shape. The error is a sentence for the model. The result is written anew:
// a name that came twice has one value, and NUL, which PostgreSQL can not store, is gone.
func (sh *shape) parse(text string) (json.RawMessage, error) {
	var value any
	if err := unmarshal([]byte(unwrap(text)), &value, false); err != nil {
		return nil, fmt.Errorf("the answer is not one JSON value: %w", err)
	}
	value, err := sh.check(value, "$")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// check returns the value without NULs, or what is wrong and where.
func (sh *shape) check(value any, at string) (any, error) {
	if len(sh.types) > 0 && !slices.ContainsFunc(sh.types, func(name string) bool { return isType(value, name) }) {
		return nil, fmt.Errorf("%s must be %s, not %s", at, strings.Join(sh.types, " or "), typeOf(value))
	}
	if len(sh.enum) > 0 && !slices.ContainsFunc(sh.enum, func(member any) bool { return equal(member, value) }) {
		members, _ := json.Marshal(sh.enum)
		return nil, fmt.Errorf("%s must be one of %s", at, members)
	}
	if len(sh.anyOf) > 0 {
		return sh.checkAnyOf(value, at)
	}
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, "\x00", ""), nil
	case []any:
		for i, item := range v {
			checked, err := sh.items.check(item, fmt.Sprintf("%s[%d]", at, i))
			if err != nil {
				return nil, err
			}
			v[i] = checked
		}
	case map[string]any:
		return sh.checkObject(v, at)
	}
	return value, nil
}

func (sh *shape) checkAnyOf(value any, at string) (any, error) {
	var errs []error
	for _, option := range sh.anyOf {
		checked, err := option.check(value, at)
		if err == nil {
			return checked, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (sh *shape) checkObject(v map[string]any, at string) (any, error) {
	for _, name := range sh.required {
		if _, ok := v[name]; !ok {
			return nil, fmt.Errorf("%s lacks %q", at, name)
		}
	}
	for name, member := range v {
		property, ok := sh.properties[name]
		if !ok {
			return nil, fmt.Errorf("%s has %q, which the schema does not have", at, name[:min(len(name), 64)])
		}
		checked, err := property.check(member, at+"."+name)
		if err != nil {
			return nil, err
		}
		v[name] = checked
	}
	return v, nil
}

func isType(value any, name string) bool {
	n, _ := value.(json.Number)
	f, err := n.Float64() // fails for what is no number, and for 1e999
	switch name {
	case "number":
		return err == nil
	case "integer":
		return err == nil && f == math.Trunc(f)
	}
	return typeOf(value) == name
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func equal(a, b any) bool {
	n, ok := a.(json.Number)
	m, both := b.(json.Number)
	if ok && both {
		x, err := n.Float64()
		y, err2 := m.Float64()
		return err == nil && err2 == nil && x == y
	}
	switch a.(type) {
	case nil, bool, string:
		return a == b
	}
	return false
}

// unwrap takes off what models put around the JSON they were asked for: thoughts, a code fence, a polite sentence.
func unwrap(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "<think>") {
		if _, after, ok := strings.Cut(text, "</think>"); ok {
			text = strings.TrimSpace(after)
		}
	}
	if strings.HasPrefix(text, "{") {
		return text
	}
	first, last := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if first >= 0 && last > first {
		return text[first : last+1]
	}
	return text
}

// unmarshal reads exactly one JSON value, numbers as they are written.
func unmarshal(text []byte, into any, known bool) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if known {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind it")
	}
	return nil
}
