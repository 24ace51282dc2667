// Package egress is the only HTTP client for addresses that strangers choose: webhook targets and websites to read.
//
// Three walls stand one behind the other. [Client.CheckURL] judges the text of an address when it is submitted and again
// before each request, so that a user learns at once what is wrong with it. The guard judges every IP address in the
// dialer, after the name was resolved and before the socket connects: whatever a name, a redirect or a second DNS answer
// leads to, nothing private is reached. A pooled connection passed that guard when it was made. The limits bound what an
// address that may be reached can do to us: time to the response headers, size of headers and body, decompression.
//
// Addresses that the operator configures (model servers, trunks, databases) are trusted and do not go through here.
package egress

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// Config is what an operator may decide about foreign addresses. The zero value is the strictest.
type Config struct {
	// AllowPrivate opens http, every port, loopback and private networks, for development on one machine.
	// Link-local and metadata addresses stay closed. Defaults to false.
	AllowPrivate bool
	// AllowCIDRs are networks that may be reached although they are not public, for receivers in the operator's own
	// network. Link-local and metadata addresses are reached only when listed one by one. Defaults to none.
	AllowCIDRs []netip.Prefix
	// UserAgent is sent unless the request brings its own. Defaults to "Callwright".
	UserAgent string
	// Resolver looks host names up. Defaults to the system's.
	Resolver *net.Resolver
	// RootCAs verify the servers. Defaults to the system's.
	RootCAs *x509.CertPool
}

// Purpose says what a request is for; the rules differ (table in purpose.go).
type Purpose int

// The purposes.
const (
	Webhook Purpose = iota // deliver a body; redirects are answers like any other
	Crawl                  // read a page; redirects are followed, bodies are decompressed
)

// Client sends requests to foreign addresses. It is safe for concurrent use.
type Client struct {
	config     Config
	guard      guard
	transports [len(rules)]*http.Transport
}

// New returns a client. Close ends its idle connections.
func New(c Config) *Client {
	if c.UserAgent == "" {
		c.UserAgent = "Callwright"
	}
	client := &Client{config: c, guard: newGuard(c)}
	for p := range rules {
		client.transports[p] = client.transport(Purpose(p))
	}
	return client
}

// Close ends the idle connections. Requests under way are not touched.
func (c *Client) Close() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// Request is one request. Header names and values that would change the framing of HTTP make it fail.
type Request struct {
	// Method defaults to GET.
	Method string
	URL    string
	Header http.Header
	Body   []byte
	// Timeout counts from the start of Do to the last response headers. A body that dribbles on is cut at the same
	// instant and counts as truncated, not as failed. Defaults to 10 s.
	Timeout time.Duration
	// MaxBody is how many bytes of the answer are kept, after decompression. Defaults to the purpose's limit:
	// 16 KiB for Webhook, 2 MiB for Crawl.
	MaxBody int64
}

// Response is an answer, whatever its status.
type Response struct {
	Status int
	Header http.Header
	// Body is the beginning of the body; Truncated says that there was more, or that it broke off.
	Body      []byte
	Truncated bool
	// URL is where the answer came from: after redirects, not the requested one.
	URL string
	// Duration is the time from the start of Do to the end of the body. It is set on errors too.
	Duration time.Duration
}

// Do sends one request and reads the beginning of its answer. The error is always an [*Error].
func (c *Client) Do(ctx context.Context, p Purpose, r Request) (Response, error) {
	start := time.Now()
	if r.Timeout <= 0 {
		r.Timeout = 10 * time.Second
	}
	if r.MaxBody <= 0 {
		r.MaxBody = rules[p].maxBody
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	resp, err := c.follow(ctx, p, r)
	resp.Duration = time.Since(start)
	return resp, err
}

// follow sends the request and, where the purpose allows it, the ones that the answers redirect to.
func (c *Client) follow(parent context.Context, p Purpose, r Request) (Response, error) {
	ctx, cancel := context.WithTimeout(parent, r.Timeout)
	defer cancel()
	for hops := 0; ; hops++ {
		resp, err := c.once(ctx, p, r)
		if err != nil {
			return Response{URL: r.URL}, failure(parent, err)
		}
		next, redirected := redirect(r, resp)
		if !redirected || rules[p].redirects == 0 {
			return resp, nil
		}
		if hops == rules[p].redirects {
			return Response{URL: r.URL}, &Error{Class: TooManyRedirects}
		}
		r = next
	}
}

// once sends one request and classifies its answer before a byte of the body is read. The answer to 101 is the raw
// connection, whose reads end neither with the context nor with any timeout, so it is closed at once.
func (c *Client) once(ctx context.Context, p Purpose, r Request) (Response, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return Response{}, err
	}
	got, err := c.send(p, req)
	if err != nil {
		return Response{}, err
	}
	defer got.Body.Close()
	resp := Response{Status: got.StatusCode, Header: got.Header, URL: r.URL}
	if got.StatusCode >= 200 {
		resp.Body, resp.Truncated = readUpTo(got.Body, r.MaxBody)
	}
	return resp, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if len(r.Body) > 0 {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		// Its text would quote the address, and addresses of webhooks can be secrets.
		return nil, &Error{Class: InvalidRequest}
	}
	for name, values := range r.Header {
		for _, value := range values {
			if headerFlaw(name, value) != "" || framing[http.CanonicalHeaderKey(name)] {
				return nil, &Error{Class: InvalidRequest}
			}
			req.Header.Add(name, value)
		}
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.config.UserAgent)
	}
	return req, nil
}

// redirect is the request that an answer asks for next. Credentials stay with the host they were meant for.
func redirect(r Request, resp Response) (Request, bool) {
	switch resp.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return r, false
	}
	location := resp.Header.Get("Location")
	from, err := url.Parse(r.URL)
	if location == "" || err != nil || (r.Method != http.MethodGet && r.Method != http.MethodHead) {
		return r, false
	}
	to, err := from.Parse(location)
	if err != nil {
		return r, false
	}
	if to.Host != from.Host {
		r.Header = r.Header.Clone()
		r.Header.Del("Authorization")
		r.Header.Del("Cookie")
	}
	r.URL = to.String()
	return r, true
}
