// Package rest shows the services of callwright.v1 as the REST interface of the specification: a gateway with a codec of
// its own, driven by the options of rest.proto, envelopes, aliases, the throttle and the download of recordings. It is a
// client of the services and knows gen and fault, nothing else of ours.
//
// What leaves here looks the same however it came about: success is the method's answer, with a leading "status" where its
// rest option says so; everything else is {status, error_code, message, details?}.
package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/throttle"
)

// Version is the API version that every answer carries. spec: Versioning.
const Version = "2025-03-02"

// Config says what REST stands on.
type Config struct {
	// Conn reaches the services.
	Conn grpc.ClientConnInterface
	// PublicURL is the address that clients know this service by. Defaults to http:// and the request's Host.
	PublicURL string
	// Origins are the web pages that browsers may let use this service: origins such as https://app.example.com, or "*" for
	// all. Defaults to none.
	Origins []string
	// RateLimit is how many requests a caller may make in any 60 s. 0 is no limit.
	RateLimit int
	// Throttle is where they are counted. Defaults to a log of this process.
	Throttle *throttle.Log
	// Caller names who a bearer token belongs to: whoever has the same name shares one limit. An error is a token that
	// nobody has; its requests count against the client's address. Defaults to taking each token as its own caller, which
	// is for tests only: made-up tokens would evade the limit.
	Caller func(ctx context.Context, token string) (string, error)
	// Metrics is where refusals are counted. Defaults to nowhere.
	Metrics prometheus.Registerer
	// Log gets what no service could log. Defaults to slog.Default().
	Log *slog.Logger
}

type handler struct {
	conn      grpc.ClientConnInterface
	public    string
	caller    func(ctx context.Context, token string) (string, error)
	throttle  *gate // nil when there is no limit
	log       *slog.Logger
	origins   origins
	reference *referencePages
	envelopes map[string]*callwrightv1.Rest
	surfaces  map[string]surface // by the first segment behind /v1
	open      map[string]bool    // GET /v1/path of methods that need no credential
	unserved  unserved
}

// New builds the handler of everything under /v1 and its aliases. It panics when two bindings of the proto contradict each
// other, which no input can bring about.
func New(c Config) http.Handler {
	h := &handler{conn: noting{c.Conn}, public: strings.TrimRight(c.PublicURL, "/"), caller: c.Caller, log: c.Log,
		origins: c.Origins, envelopes: envelopes(), open: openRoutes(), unserved: newUnserved(c.Metrics)}
	h.reference = newReferencePages(h.public)
	if h.log == nil {
		h.log = slog.Default()
	}
	if c.RateLimit > 0 {
		h.throttle = newGate(c)
	}
	if err := h.build(); err != nil {
		panic(err)
	}
	return h
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{ResponseWriter: w, id: requestID(r), address: h.public}
	head := w.Header()
	head.Set("X-Request-Id", x.id)
	head.Set("Service-Version", Version)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	defer h.note(x, r, time.Now())
	defer h.recovers(x, r)
	if h.origins.answer(x, r) {
		return
	}
	if h.reference.has(r.URL.Path) {
		h.reference.serve(x, r)
		return
	}
	if h.throttle != nil {
		if f := h.throttle.admit(x, r); f != nil {
			refuse(x, f)
			return
		}
	} else {
		x.stranger = bearer(r) == ""
	}
	path, f := readPath(r.URL)
	x.open = h.open[r.Method+" "+path]
	x.stranger = x.stranger && !x.open && h.caller != nil
	if f == nil && !x.stranger {
		_, f = parseQuery(r.URL.RawQuery)
	}
	if f == nil && !x.stranger && r.ContentLength > maxBody {
		drain(r, r.Body)
		f = errTooLarge
	}
	if f != nil {
		h.refuse(x, r, f)
		return
	}
	h.route(x, h.inner(x, r, path))
}

// inner is the request as the gateway gets it.
func (h *handler) inner(x *exchange, r *http.Request, path string) *http.Request {
	if x.address == "" {
		x.address = "http://" + r.Host
	}
	q := r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	u := *r.URL
	u.Path, u.RawPath = path, ""
	q.URL = &u
	// What the gateway would read of these is not for clients of REST to say: deadlines, and who the client is. Nobody in
	// front of us is trusted to say that.
	for _, name := range []string{"Grpc-Timeout", "X-Forwarded-For", "X-Forwarded-Host", "Te"} {
		q.Header.Del(name)
	}
	q.Header.Set("X-Request-Id", x.id)
	for i, v := range q.Header["Service-Version"] {
		if strings.Trim(v, "0123456789-") != "" {
			q.Header["Service-Version"][i] = "unknown" // the gateway would drop one that is not ASCII, and it be absent
		}
	}
	if r.Body != nil && r.Body != http.NoBody && !x.stranger {
		q.Body = bodyOf(r)
	} else {
		q.Body = &body{ReadCloser: http.NoBody}
	}
	// There is one codec; the gateway need not look for another.
	q.Header.Del("Content-Type")
	q.Header.Del("Accept")
	q.PostForm = url.Values{}
	q.Form = url.Values{}
	if !x.stranger {
		q.Form[rawQuery] = []string{r.URL.RawQuery}
	}
	return q
}

// route finds the mux of the path's first segment.
func (h *handler) route(x *exchange, r *http.Request) {
	below, ok := strings.CutPrefix(r.URL.Path, "/v1/")
	segment, _, _ := strings.Cut(below, "/")
	f, known := h.surfaces[segment]
	if !ok || !known {
		refuse(x, errNoRoute)
		return
	}
	switch r.Method {
	case http.MethodHead:
		x.head = true
		r.Method = http.MethodGet
	case http.MethodOptions:
		allow := h.allowed(r, f)
		if allow == "" {
			refuse(x, errNoRoute)
			return
		}
		x.Header().Set("Allow", allow)
		x.WriteHeader(http.StatusNoContent)
		return
	}
	f.mux.ServeHTTP(x, r)
}

// readPath is the path that is routed. One with an empty segment leads nowhere, and neither does one with an encoded
// slash, which no id of ours has: decoded, it would be another path than the client wrote.
func readPath(u *url.URL) (string, *fault.Error) {
	if !storable(u.Path) {
		return "", fault.Invalidf("the path must be valid UTF-8 without NUL characters")
	}
	if strings.Contains(u.Path, "//") || strings.HasSuffix(u.Path, "/") || strings.Contains(strings.ToLower(u.RawPath), "%2f") {
		return "", errNoRoute
	}
	return canonical(u.Path), nil
}
