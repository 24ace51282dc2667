package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
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
	x := exchangeOf(ctx)
	r.address = x.address
	x.status = status(h.envelopes[method], answer)
	if !h.envelopes[method].GetBare() {
		r.status = x.status
	}
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
