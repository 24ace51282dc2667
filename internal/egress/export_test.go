package egress

import (
	"net/http"
	"net/netip"
)

// Permit is the guard's verdict on one address.
func (c *Client) Permit(ip netip.Addr) error { return c.guard.permit(ip) }

// Unchecked is a purpose's transport without the check of the URL's text before it: what stands when a text passes.
func (c *Client) Unchecked(p Purpose) http.RoundTripper { return c.transports[p] }

// AnyPort lets crawls reach every port until the returned function is called, for servers of tests.
func AnyPort() (restore func()) {
	was := rules[Crawl].high
	rules[Crawl].high = true
	return func() { rules[Crawl].high = was }
}
