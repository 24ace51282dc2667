package server

import (
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// direct serves unary calls of the connection inside the process on the caller's own goroutine: handing each to another
// one and back is a tenth of what reading a record costs. What a handler sees and what a caller gets is the same as over
// the network (TestACallIsTheSameInTheProcessAndOverTheNetwork), but that a call whose caller has gone returns when its
// handler does.
type direct struct {
	methods map[string]unaryMethod
	chain   grpc.UnaryServerInterceptor
}

type unaryMethod struct {
	serve grpc.MethodHandler
	impl  any
}

// RegisterService notes the unary methods of a service.
func (d *direct) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if d.methods == nil {
		d.methods = map[string]unaryMethod{}
	}
	for _, m := range desc.Methods {
		d.methods["/"+desc.ServiceName+"/"+m.MethodName] = unaryMethod{m.Handler, impl}
	}
}

// invoke is false for what it leaves to the channel: methods that are not there and options it does not know.
func (d *direct) invoke(ctx context.Context, method string, in, out any, opts []grpc.CallOption) (bool, error) {
	m, ok := d.methods[method]
	if !ok || slices.ContainsFunc(opts, func(o grpc.CallOption) bool { return !known(o) }) {
		return false, nil
	}
	if err := ctx.Err(); err != nil {
		return true, status.FromContextError(err).Err()
	}
	t := &transport{method: method}
	resp, err := m.serve(m.impl, serverContext(ctx, t), func(into any) error { return cloner{}.Copy(into, in) }, d.chain)
	t.give(opts)
	switch {
	case err != nil:
		return true, err
	case resp == nil:
		return true, status.Error(codes.Internal, "the handler gave neither an answer nor an error")
	}
	return true, cloner{}.Copy(out, resp)
}

func known(o grpc.CallOption) bool {
	switch o.(type) {
	case grpc.HeaderCallOption, grpc.TrailerCallOption, grpc.StaticMethodCallOption, grpc.EmptyCallOption:
		return true
	}
	return false
}

// serverContext has the caller's deadline, cancellation and metadata, and none of its values.
func serverContext(ctx context.Context, t *transport) context.Context {
	in := context.Context(valueless{ctx})
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		in = metadata.NewIncomingContext(in, md)
	}
	return grpc.NewContextWithServerTransportStream(peer.NewContext(in, &here), t)
}

type valueless struct{ context.Context }

func (valueless) Value(any) any { return nil }

var here = peer.Peer{Addr: inside{}}

// inside is the address of a caller in the process.
type inside struct{}

func (inside) Network() string { return "inproc" }
func (inside) String() string  { return "0" }

// transport collects what a handler sends beside its answer.
type transport struct {
	method          string
	mu              sync.Mutex
	header, trailer metadata.MD
}

func (t *transport) Method() string                  { return t.method }
func (t *transport) SetHeader(md metadata.MD) error  { return t.add(&t.header, md) }
func (t *transport) SendHeader(md metadata.MD) error { return t.add(&t.header, md) }
func (t *transport) SetTrailer(md metadata.MD) error { return t.add(&t.trailer, md) }

func (t *transport) add(to *metadata.MD, md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if *to == nil {
		*to = maps.Clone(md)
		return nil
	}
	for k, v := range md {
		(*to)[k] = append((*to)[k], v...)
	}
	return nil
}

// give puts header and trailer where the caller wants them.
func (t *transport) give(opts []grpc.CallOption) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = t.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = t.trailer
		}
	}
}
