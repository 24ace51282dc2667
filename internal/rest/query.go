package rest

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/callwright/callwright/internal/fault"
)

// maxParameters bounds a query; its length is bounded by the header's.
const maxParameters = 500

type parameter struct{ key, value string }

// parseQuery splits a raw query in the order it is written, which url.Values forgets.
func parseQuery(raw string) ([]parameter, *fault.Error) {
	var all []parameter
	for raw != "" {
		var one string
		one, raw, _ = strings.Cut(raw, "&")
		if one == "" {
			continue
		}
		k, v, _ := strings.Cut(one, "=")
		key, kerr := url.QueryUnescape(k)
		value, verr := url.QueryUnescape(v)
		if kerr != nil || verr != nil {
			return nil, at(key, fault.Invalidf("the query is not properly percent-encoded"))
		}
		if !storable(key) || !storable(value) {
			return nil, at(key, fault.Invalidf("the query must be valid UTF-8 without NUL characters"))
		}
		if len(all) == maxParameters {
			return nil, fault.Invalidf("the query has more than %d parameters", maxParameters)
		}
		all = append(all, parameter{key, value})
	}
	return all, nil
}

// at puts the name of a filter into details.path (CONTRACT.md §2, where). Other refusals of a query have no details
// (spec: Errors, validation_failed).
func at(key string, f *fault.Error) *fault.Error {
	name, _, _ := strings.Cut(key, "[")
	if name != "where" && name != "orderBy" {
		return f
	}
	return f.With("path", name)
}

// storable is false for what a database can not hold: NUL and invalid UTF-8.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// rawQuery is the key under which a request's Form hands its raw query to queryParser.
const rawQuery = ""

// queryParser reads query parameters into a message by the names that bodies use. Unknown ones are ignored; of one given
// twice the last counts, but JSON is given once. The gateway flattens its errors to texts, so all of them are
// validation_failed; the name of the parameter stays in the form, behind the raw query.
type queryParser struct{}

func (queryParser) Parse(msg proto.Message, form url.Values, filter *utilities.DoubleArray) error {
	if len(form[rawQuery]) == 0 {
		return nil
	}
	all, f := parseQuery(form[rawQuery][0])
	if f == nil {
		f = readQuery(msg.ProtoReflect(), all, filter)
	}
	if f != nil {
		path, _ := f.Details["path"].(string)
		form[rawQuery] = append(form[rawQuery], path)
		return errors.New(f.Message)
	}
	return nil
}

func readQuery(m protoreflect.Message, all []parameter, filter *utilities.DoubleArray) *fault.Error {
	p := planOf(m.Descriptor())
	var trees []*tree
	for _, q := range all {
		name, brackets := q.key, ""
		if i := strings.IndexByte(name, '['); i >= 0 {
			name, brackets = name[:i], name[i:]
		}
		f := p.byName[name]
		if f == nil || filter.HasCommonPrefix([]string{string(f.fd.Name())}) {
			continue
		}
		d := decoder{path: []byte(name)}
		switch {
		case f.shape == shapeRaw:
			var err error
			if trees, err = plant(trees, f, brackets, q.value); err != nil {
				return at(name, d.wrong(err.Error()))
			}
		case f.shape == shapeList && f.elem != shapeMessage && (brackets == "" || brackets == "[]"):
			v, err := d.fromText(f, f.elem, q.value)
			if err != nil {
				return at(name, err)
			}
			m.Mutable(f.fd).List().Append(v)
		case f.shape < shapeStruct && brackets == "":
			v, err := d.fromText(f, f.shape, q.value)
			if err != nil {
				return at(name, err)
			}
			m.Set(f.fd, v)
		}
	}
	for _, t := range trees {
		text, err := t.json()
		if err != nil {
			return at(t.f.name, (&decoder{path: []byte(t.f.name)}).wrong(err.Error()))
		}
		if text != "" {
			m.Set(t.f.fd, protoreflect.ValueOfString(text))
		}
	}
	return nil
}
