package server

import (
	"context"

	"google.golang.org/grpc"
)

// interceptors is what every call passes, outermost first, unary or stream, over the network or in the process.
func (s *Server) interceptors() []around {
	return []around{
		requestID,                      // first: every later line and answer names the request
		logs(s.c.Log),                  // outside faults and recover: it sees the code that the caller sees
		measures(s.c.Metrics),          // the same
		faults(s.c.Log),                // turns whatever comes from inside into a status; logs the cause of our own faults
		recovers,                       // inside faults: a panic is one more error to it
		deadline(s.c.Deadline),         // bounds everything that may touch the database, authentication included
		version,                        // needs no credential to be told
		origins(s.c.TrustedProxies),    // before anything that counts by address
		authenticate(s.c.Authenticate), // from here on there is a principal
		storable,                       // last: REST has refused such texts already, gRPC and the tool server have not
	}
}

// around runs before and after the rest of a call, which is c.next.
type around func(ctx context.Context, c *rpc) error

// rpc is one call on its way through the list.
type rpc struct {
	method string // /package.Service/Method
	stream bool
	id     string // request id
	caller Caller // set by authenticate, read by logs on the way back
	req    any    // nil for a stream

	list []around
	last func(ctx context.Context) error
}

// next runs the rest of the list and, at its end, the handler.
func (c *rpc) next(ctx context.Context) error {
	if len(c.list) == 0 {
		return c.last(ctx)
	}
	a := c.list[0]
	c.list = c.list[1:]
	return a(ctx, c)
}

func unary(list []around) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		var resp any
		c := &rpc{method: info.FullMethod, list: list, req: req}
		c.last = func(ctx context.Context) (err error) {
			resp, err = handler(ctx, req)
			return err
		}
		if err := c.next(ctx); err != nil {
			return nil, err
		}
		return resp, nil
	}
}

func stream(list []around) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		c := &rpc{method: info.FullMethod, stream: true, list: list}
		c.last = func(ctx context.Context) error { return handler(srv, contextStream{ss, ctx}) }
		return c.next(ss.Context())
	}
}

// contextStream is a stream whose handler sees the context that the interceptors made.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s contextStream) Context() context.Context { return s.ctx }

func (s contextStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return checkText(m)
}
