package identity

import (
	"context"
	"net/netip"
)

type originKey struct{}

// WithOrigin puts the address that a request comes from into the context, as an IP address. What can not be read as one
// counts as one unknown place.
func WithOrigin(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, originKey{}, place(address))
}

func originOf(ctx context.Context) string {
	address, _ := ctx.Value(originKey{}).(string)
	return address
}

// place is what limits count by: an IPv4 address, or the /64 that one customer of an IPv6 network has.
func place(address string) string {
	if p, err := netip.ParsePrefix(address); err == nil {
		return p.Masked().String()
	}
	a, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	a = a.Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64)
		return p.String()
	}
	return a.String()
}
