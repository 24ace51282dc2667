package server

import (
	"context"
	"net"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// originKey is the metadata in which a service finds the address that a request comes from.
const originKey = "client-address"

// origin sets the client's address to that of the peer. On the connection inside the process the caller is REST or the
// portal, which knows the client and says who it is; nobody else is believed.
func origin(ctx context.Context, c *rpc) error {
	p, ok := peer.FromContext(ctx)
	if ok && p.Addr.Network() == "inproc" {
		return c.next(ctx)
	}
	address := ""
	if ok {
		address = p.Addr.String()
		if host, _, err := net.SplitHostPort(address); err == nil {
			address = host
		}
	}
	md, _ := metadata.FromIncomingContext(ctx) // a copy
	if md == nil {
		md = metadata.MD{}
	}
	md.Set(originKey, address)
	return c.next(metadata.NewIncomingContext(ctx, md))
}
