package mcp

import (
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/throttle"
)

// maxBody is the largest request: arguments of the tools are small.
const maxBody = 1 << 20

// guard stands in front of the protocol library, which checks none of this. The order is fixed: who asks (401), how often
// (429), in what form (406). spec: Errors, Tool server.
type guard struct {
	Config
	next http.Handler
}

func (g guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.expected(r) {
		refuse(w, fault.New(fault.Denied, "forbidden", "this address is not served here: Host or Origin is not the public address"))
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, fault.New(fault.MethodNotAllowed, "method_not_allowed", "send POST: there are no sessions to read or end"))
		return
	}
	caller, err := g.caller(r)
	if err == nil {
		err = g.admit(r, caller)
	}
	if err != nil {
		f := faultOf(err)
		if f.Kind == fault.Unauthenticated {
			w.Header().Set("WWW-Authenticate", "Bearer")
			f = fault.New(fault.Unauthenticated, "api_key_invalid", "%s", f.Message)
		}
		refuse(w, f)
		return
	}
	if !acceptsBoth(r.Header.Values("Accept")) {
		refuseWith(w, http.StatusNotAcceptable, "not_acceptable", "the Accept header must list application/json and text/event-stream", 0)
		return
	}
	// The body is JSON whatever a hand-built client calls it: curl, for one, takes it for a form.
	r.Header.Set("Content-Type", "application/json")
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if r.ContentLength > maxBody {
		refuse(w, fault.New(fault.TooLarge, "body_too_large", "the body must have at most %d bytes", maxBody))
		return
	}
	g.next.ServeHTTP(w, r)
}

// caller authenticates the request. The sentence says which header was missing: some assistants drop configured ones.
func (g guard) caller(r *http.Request) (string, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", fault.New(fault.Unauthenticated, "api_key_invalid", "the header Authorization is missing: send Authorization: Bearer <API key> with every request")
	}
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", fault.New(fault.Unauthenticated, "api_key_invalid", "the header Authorization must be: Bearer <API key>")
	}
	name, err := g.Authenticate(r.Context(), token)
	if err != nil && faultOf(err).Kind == fault.Unauthenticated {
		// Wrong keys count for the address that they come from: trying many is refused as asking often is.
		if limited := g.admit(r, "address "+throttle.Address(r.RemoteAddr)); limited != nil {
			return "", limited
		}
	}
	return name, err
}

// admit counts the request against a limit.
func (g guard) admit(r *http.Request, caller string) error {
	if g.Admit == nil {
		return nil
	}
	wait, ok := g.Admit(r.Context(), caller)
	if ok {
		return nil
	}
	f := fault.New(fault.TooMany, "rate_limited", "too many requests in a minute")
	f.RetryAfter = wait
	return f
}

// expected refuses pages that reach a local server under a name of their own (DNS rebinding): Host, and Origin when a
// browser sends one, must be the public address or a loopback one.
func (g guard) expected(r *http.Request) bool {
	public := ""
	if u, err := url.Parse(g.PublicURL); err == nil {
		public = u.Hostname()
	}
	if g.PublicURL != "" && !known(hostname(r.Host), public) {
		return false
	}
	if g.PublicURL == "" && boundToLoopback(r) && !known(hostname(r.Host), "") {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (known(u.Hostname(), public) || strings.EqualFold(u.Host, r.Host))
}

// boundToLoopback reports whether the request came in on a loopback address, where only local names make sense.
func boundToLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	ip := net.ParseIP(hostname(addr.String()))
	return ip != nil && ip.IsLoopback()
}

func known(host, public string) bool {
	if public != "" && strings.EqualFold(host, public) {
		return true
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
	}
	return strings.Trim(host, "[]")
}

// acceptsBoth reports whether the Accept header lists both media types a Streamable HTTP answer may have. Quality values
// are ignored; wildcards do not count: the client must have meant it. spec: Endpoints, Tool server (MCP).
func acceptsBoth(values []string) bool {
	var hasJSON, hasEvents bool
	for _, part := range strings.Split(strings.Join(values, ","), ",") {
		media, _, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		hasJSON = hasJSON || media == "application/json"
		hasEvents = hasEvents || media == "text/event-stream"
	}
	return hasJSON && hasEvents
}

func refuse(w http.ResponseWriter, f *fault.Error) {
	refuseWith(w, f.Kind.HTTP(), f.Code, f.Message, f.RetrySeconds())
}

// refuseWith answers in a shape that JSON-RPC clients and REST clients both understand.
func refuseWith(w http.ResponseWriter, status int, code, message string, retry int) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if retry > 0 {
		h.Set("Retry-After", strconv.Itoa(retry))
	}
	w.WriteHeader(status)
	// The client may be gone; there is nobody left to tell.
	_ = json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error":  map[string]any{"code": -32000, "message": message, "data": map[string]any{"error_code": code}},
		"status": status, "error_code": code, "message": message,
	})
}
