package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// reply is an answer on its way out: the message, after a leading member "status" where the method's rest option says so.
type reply struct {
	message proto.Message
	status  int // 0: bare
	address string
}

func (r *reply) json() ([]byte, error) {
	e := encoder{address: r.address}
	b := append(make([]byte, 0, 1024), '{')
	if r.status != 0 {
		b = append(b, `"status":`...)
		b = strconv.AppendInt(b, int64(r.status), 10)
	}
	m := r.message.ProtoReflect()
	b = e.members(b, m, planOf(m.Descriptor()))
	return append(b, '}'), e.err
}

// envelopes are the rest options of callwright.v1 by full method name.
func envelopes() map[string]*callwrightv1.Rest {
	all := map[string]*callwrightv1.Rest{}
	protoregistry.GlobalFiles.RangeFilesByPackage("callwright.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				m := s.Methods().Get(j)
				if o, _ := proto.GetExtension(m.Options(), callwrightv1.E_Rest).(*callwrightv1.Rest); o != nil {
					all["/"+string(s.FullName())+"/"+string(m.Name())] = o
				}
			}
		}
		return true
	})
	return all
}

// envelope turns a method's answer into a reply and sets the HTTP status.
func (h *handler) envelope(ctx context.Context, answer proto.Message) (any, error) {
	r := &reply{message: answer}
	if part, ok := answer.(interface{ XXX_ResponseBody() any }); ok {
		m, ok := part.XXX_ResponseBody().(proto.Message)
		if !ok {
			return nil, fmt.Errorf("a bare answer of type %T is not supported", part.XXX_ResponseBody())
		}
		r.message = m
	}
	method, _ := runtime.RPCMethod(ctx)
	r.status = status(h.envelopes[method], answer)
	x := exchangeOf(ctx)
	r.address = x.address
	x.status = r.status
	return r, nil
}

// status is what an answer's envelope says; 0 for a bare one.
func status(o *callwrightv1.Rest, answer proto.Message) int {
	if o.GetCreatedField() != "" && !created(answer.ProtoReflect(), o.GetCreatedField()) {
		return http.StatusOK
	}
	return int(o.GetStatus())
}

// created reads the bool inside the member "data" that decides between the option's status and 200.
func created(m protoreflect.Message, field string) bool {
	data := m.Descriptor().Fields().ByName("data")
	if data == nil || data.Message() == nil {
		return false
	}
	in := m.Get(data).Message()
	fd := in.Descriptor().Fields().ByName(protoreflect.Name(field))
	return fd != nil && fd.Kind() == protoreflect.BoolKind && in.Get(fd).Bool()
}

// failure is the body of every error. CONTRACT.md §1.
type failure struct {
	Status  int            `json:"status"`
	Code    string         `json:"error_code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// refuse answers with a fault.
func refuse(w http.ResponseWriter, f *fault.Error) {
	h := w.Header()
	switch f.Kind {
	case fault.Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case fault.TooMany:
		h.Set("Retry-After", strconv.Itoa(max(1, f.RetrySeconds())))
	default:
		if s := f.RetrySeconds(); s > 0 {
			h.Set("Retry-After", strconv.Itoa(s))
		}
	}
	writeFailure(w, failure{f.Kind.HTTP(), f.Code, f.Message, f.Details})
}

func writeFailure(w http.ResponseWriter, f failure) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if e.Encode(f) != nil { // a detail that is no JSON value is our defect and must not hide the error
		f.Details = nil
		buf.Reset()
		_ = e.Encode(f)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	h := w.Header()
	for _, of := range []string{"Trailer", "Transfer-Encoding", "Content-Encoding", "Etag", "Last-Modified", "Accept-Ranges"} {
		h.Del(of) // they were of the answer that did not come
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(f.Status)
	_, _ = w.Write(b)
}
