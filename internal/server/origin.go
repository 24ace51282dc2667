package server

import (
	"context"
	"net/netip"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// originKey is the metadata in which a service finds the address that a request comes from.
const originKey = "client-address"

// origins sets the client's address to that of the peer, or of whoever stands behind trusted proxies. On the connection
// inside the process the caller is REST or the portal, which knows the client and says who it is; nobody else is believed.
func origins(trusted proxies) around {
	return func(ctx context.Context, c *rpc) error {
		p, ok := peer.FromContext(ctx)
		if ok && p.Addr.Network() == "inproc" {
			return c.next(ctx)
		}
		md, _ := metadata.FromIncomingContext(ctx) // a copy
		if md == nil {
			md = metadata.MD{}
		}
		address := ""
		if ok {
			address = p.Addr.String()
			if at, err := netip.ParseAddrPort(address); err == nil {
				address = trusted.client(at.Addr().Unmap().WithZone(""), md.Get("x-forwarded-for"), md.Get("forwarded")).String()
			}
		}
		md.Set(originKey, address)
		return c.next(metadata.NewIncomingContext(ctx, md))
	}
}
