package egress

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"
)

// rules is the one table of what differs between the purposes.
var rules = [...]struct {
	https      bool // https only
	high       bool // ports from 1024 up
	ports      []uint16
	redirects  int // how many are followed
	decompress bool
	maxHeaders int64
	maxBody    int64
}{
	// CONTRACT.md §2 Webhook: https only, public addresses only, redirects are failures. Receivers on ports of their own
	// are usual; the ports below 1024 belong to other protocols.
	Webhook: {https: true, high: true, ports: []uint16{443}, maxHeaders: 32 << 10, maxBody: 16 << 10},
	// CONTRACT.md §2 Agent builder. Websites are where browsers look for them.
	Crawl: {ports: []uint16{80, 443, 8080, 8443}, redirects: 5, decompress: true, maxHeaders: 64 << 10, maxBody: 2 << 20},
}

func (c *Client) portAllowed(p Purpose, port uint16) bool {
	r := rules[p]
	return c.config.AllowPrivate && port != 0 || slices.Contains(r.ports, port) || r.high && port >= 1024
}

// transport knows no proxy, no HTTP/2 (one stream per connection keeps the limits simple) and no redirect. Idle
// connections go early, so that a moved receiver is found again by its name.
func (c *Client) transport(p Purpose) *http.Transport {
	dialer := &net.Dialer{Resolver: c.config.Resolver, ControlContext: c.control(p)}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: c.config.RootCAs},
		Protocols:              &http1,
		DisableCompression:     !rules[p].decompress,
		MaxResponseHeaderBytes: rules[p].maxHeaders,
		MaxIdleConns:           128,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        30 * time.Second,
	}
}

// send checks the address and sends. The answer's body is decompressed for Crawl and not yet bounded.
func (c *Client) send(p Purpose, req *http.Request) (*http.Response, error) {
	if err := c.checkURL(p, req.URL); err != nil {
		return nil, &Error{Class: RefusedAddress, Err: err}
	}
	resp, err := c.transports[p].RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if rules[p].decompress && resp.StatusCode >= 200 {
		gunzip(resp)
	}
	return resp, nil
}

// CrawlTransport is the same guard and limits for a crawling library: every request and every redirect that the library
// follows passes through it. Bodies end silently after 2 MiB, measured after decompression, compressed files (sitemaps)
// included. It has no memory for cookies. The library sets the deadlines.
func (c *Client) CrawlTransport() http.RoundTripper { return crawler{c} }

type crawler struct{ c *Client }

// RoundTrip implements [http.RoundTripper].
func (t crawler) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("User-Agent") == "" {
		req = req.Clone(req.Context())
		req.Header.Set("User-Agent", t.c.config.UserAgent)
	}
	resp, err := t.c.send(Crawl, req)
	if err != nil {
		return nil, failure(req.Context(), err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, &Error{Class: Protocol, Err: errors.New("101 without an upgrade being asked for")}
	}
	resp.Body = &bounded{r: resp.Body, left: rules[Crawl].maxBody}
	return resp, nil
}
