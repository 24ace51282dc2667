package server

import (
	"context"
	"errors"
	"io"

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
	d := &direct{chain: unary(list)}
	if register != nil {
		register(all{s, &c, d})
	}
	return patient{&c, d}
}

// patient gives streams whose one request can be sent although the server has answered already: whoever calls
// grpc.ClientStream.SendMsg for a method without client streaming is promised nil then, and reads the status from
// RecvMsg. The channel returns io.EOF, which generated clients pass on in place of the status.
type patient struct {
	*inprocgrpc.Channel
	direct *direct
}

// Invoke makes a unary call.
func (p patient) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	if served, err := p.direct.invoke(ctx, method, in, out, opts); served {
		return err
	}
	return p.Channel.Invoke(ctx, method, in, out, opts...)
}

func (p patient) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := p.Channel.NewStream(ctx, desc, method, opts...)
	if err != nil || desc.ClientStreams {
		return s, err
	}
	return oneRequest{s}, nil
}

type oneRequest struct{ grpc.ClientStream }

func (s oneRequest) SendMsg(m any) error {
	if err := s.ClientStream.SendMsg(m); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// all registers a service with each.
type all []grpc.ServiceRegistrar

func (r all) RegisterService(desc *grpc.ServiceDesc, impl any) {
	for _, one := range r {
		one.RegisterService(desc, impl)
	}
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
