package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

	"github.com/callwright/callwright/internal/fault"
)

// maxBody bounds what a request may carry. CONTRACT.md §1.
const maxBody = 8 << 20

var errTooLarge = fault.New(fault.TooLarge, "body_too_large", "the body is larger than 8 MiB")

// maxDrain is how much of a body that is too large is read and thrown away.
const maxDrain = 32 << 20

// drain lets a client finish that writes all of its request before it reads the answer: a connection that is closed with
// unread bytes is reset, and the 413 lost. A client that waits to be told to go on is told no instead.
func drain(r *http.Request, rest io.Reader) {
	if r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, rest, maxDrain) // however it ends, the answer is the same
	}
}

// body is a request's body. The gateway flattens what a decoder returns to a text, so the fault is kept here, where the
// error handler finds it.
type body struct {
	io.ReadCloser
	rest  func()       // reads on behind the bound
	form  bool         // sent with the type that curl -d sets by itself
	kind  *fault.Error // the type is not JSON; told only by methods that read the body
	fault *fault.Error
}

// bodyOf bounds and wraps a request's body.
func bodyOf(r *http.Request) *body {
	sentBody := r.Body
	b := &body{ReadCloser: http.MaxBytesReader(nil, sentBody, maxBody), rest: func() { drain(r, sentBody) }}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		b.kind = fault.Invalidf("body must not be compressed (Content-Encoding %q)", e)
		return b
	}
	sent := r.Header.Get("Content-Type")
	if sent == "" {
		return b
	}
	kind, _, err := mime.ParseMediaType(sent)
	if err != nil {
		kind, _, _ = strings.Cut(strings.ToLower(sent), ";")
		kind = strings.TrimSpace(kind)
	}
	switch {
	case kind == "application/json", kind == "text/json", strings.HasSuffix(kind, "+json"):
	case kind == "application/x-www-form-urlencoded":
		b.form = true
	default:
		b.kind = fault.Invalidf("body must be sent with Content-Type application/json, not %q", kind)
	}
	return b
}

// decode reads the body into target: a message, or a pointer to where one goes. An empty body counts as {}.
func (b *body) decode(target any) error {
	b.fault = b.read(target)
	if b.fault == nil {
		return nil
	}
	return b.fault
}

func (b *body) read(target any) *fault.Error {
	var buf bytes.Buffer
	if _, err := buf.ReadFrom(b.ReadCloser); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			b.rest()
			return errTooLarge
		}
		return fault.Invalidf("body could not be read to its end").Wrap(err)
	}
	m := messageAt(target)
	text := bytes.TrimSpace(buf.Bytes())
	if len(text) == 0 {
		return nil
	}
	if b.kind != nil {
		return b.kind
	}
	if err := checkBody(text, planOf(m.ProtoReflect().Descriptor())); err != nil {
		if b.form {
			return fault.Invalidf("body must be JSON, sent with Content-Type application/json")
		}
		return fault.Invalidf("body %s", err)
	}
	return decode(text, m.ProtoReflect())
}

// checkBody is check, but for what is in the message's loose members.
func checkBody(text []byte, p *plan) error {
	err := check(text)
	if err == nil || !utf8.Valid(text) {
		return err
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return err
	}
	for name, m := range p.byName {
		if m.loose {
			delete(members, name)
		}
	}
	others, merr := json.Marshal(members)
	if merr != nil {
		return err
	}
	return check(others)
}

// messageAt is the message that target points to; a nil one is made.
func messageAt(target any) proto.Message {
	if m, ok := target.(proto.Message); ok {
		return m
	}
	v := reflect.ValueOf(target).Elem()
	if v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	}
	return v.Interface().(proto.Message)
}

// codec is what the gateway reads and writes bodies with.
type codec struct{}

var errNotOurs = errors.New("rest: not a value of this package")

func (codec) ContentType(any) string { return "application/json" }

func (codec) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		b, ok := r.(*body)
		if !ok {
			return errNotOurs
		}
		return b.decode(v)
	})
}

func (codec) Marshal(v any) ([]byte, error) {
	r, ok := v.(*reply)
	if !ok {
		return nil, errNotOurs
	}
	return r.json()
}

func (codec) Unmarshal([]byte, any) error { return errNotOurs }
func (codec) NewEncoder(io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(any) error { return errNotOurs })
}
