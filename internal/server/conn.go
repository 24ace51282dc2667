package server

import (
	"errors"

	"github.com/fullstorydev/grpchan/inprocgrpc"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// newConn builds the connection inside the process and registers the services on it and on the listener's server: the same
// implementations behind both.
func newConn(list []around, s *grpc.Server, register func(grpc.ServiceRegistrar)) grpc.ClientConnInterface {
	var c inprocgrpc.Channel
	c.WithServerUnaryInterceptor(unary(list))
	c.WithServerStreamInterceptor(stream(list))
	c.WithCloner(cloner{})
	if register != nil {
		register(both{s, &c})
	}
	return &c
}

// both registers a service twice.
type both struct{ a, b grpc.ServiceRegistrar }

func (r both) RegisterService(desc *grpc.ServiceDesc, impl any) {
	r.a.RegisterService(desc, impl)
	r.b.RegisterService(desc, impl)
}

// cloner copies messages between the two sides of an in-process call, neither of which may see the other's changes. The
// channel's own goes through the deprecated protobuf module.
type cloner struct{}

var errNotProto = errors.New("not a protobuf message")

func (cloner) Copy(out, in any) error {
	o, ok := out.(proto.Message)
	i, ok2 := in.(proto.Message)
	if !ok || !ok2 {
		return errNotProto
	}
	proto.Reset(o)
	proto.Merge(o, i)
	return nil
}

func (cloner) Clone(in any) (any, error) {
	m, ok := in.(proto.Message)
	if !ok {
		return nil, errNotProto
	}
	return proto.Clone(m), nil
}
