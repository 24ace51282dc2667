package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"

	"github.com/callwright/callwright/internal/fault"
)

var errNoRoute = fault.New(fault.NotFound, "route_not_found", "there is nothing at this path")

// lost answers what the gateway could not route. In one mux a wrong method and an unknown path are told apart by it.
func (h *handler) lost(_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request,
	status int) {
	below := strings.TrimPrefix(r.URL.Path, "/v1/")
	segment, _, _ := strings.Cut(below, "/")
	if allow := h.allowed(r, h.surfaces[segment]); status == http.StatusMethodNotAllowed && allow != "" {
		refuseMethod(w, allow)
		return
	}
	refuse(w, errNoRoute)
}

// refuseMethod says which methods a path has.
func refuseMethod(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	refuse(w, fault.New(fault.MethodNotAllowed, "method_not_allowed", "this path answers %s", allow))
}

// fail answers a call that did not succeed, or a body that could not be decoded.
func (h *handler) fail(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request,
	err error) {
	if b, ok := r.Body.(*body); ok && b.fault != nil {
		h.refuse(w, r, b.fault)
		return
	}
	f := fault.FromStatus(err)
	if sent := r.Form[rawQuery]; len(sent) > 1 && sent[1] != "" { // the parser of queries left the name of a parameter
		f = f.With("path", sent[1])
	}
	if f.Kind == fault.Internal && f.Err != nil { // else the service has logged it
		h.log.ErrorContext(ctx, "request failed", "request_id", exchangeOf(r.Context()).id, "err", err)
	}
	h.refuse(w, r, f)
}

// recovers answers a panic outside the services, whose own are caught there.
func (h *handler) recovers(x *exchange, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	h.log.ErrorContext(r.Context(), "panic", "request_id", x.id, "panic", p, "stack", string(debug.Stack()))
	if x.wrote {
		panic(http.ErrAbortHandler) // the client must not take what it got for all
	}
	refuse(x, fault.New(fault.Internal, "internal_error", "something went wrong on our side"))
}

// failure is the body of every error. CONTRACT.md §1.
type failure struct {
	Status  int            `json:"status"`
	Code    string         `json:"error_code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// refuse answers with a fault.
func refuse(w http.ResponseWriter, f *fault.Error) {
	if x, ok := w.(*exchange); ok && !x.served {
		x.refused = f.Code
	}
	h := w.Header()
	switch f.Kind {
	case fault.Unauthenticated:
		h.Set("WWW-Authenticate", "Bearer")
	case fault.TooMany:
		h.Set("Retry-After", strconv.Itoa(max(1, f.RetrySeconds())))
	default:
		if s := f.RetrySeconds(); s > 0 {
			h.Set("Retry-After", strconv.Itoa(s))
		}
	}
	writeFailure(w, failure{f.Kind.HTTP(), f.Code, f.Message, f.Details})
}

func writeFailure(w http.ResponseWriter, f failure) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if e.Encode(f) != nil { // a detail that is no JSON value is our defect and must not hide the error
		f.Details = nil
		buf.Reset()
		_ = e.Encode(f)
	}
	b := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	h := w.Header()
	for _, of := range []string{"Trailer", "Transfer-Encoding", "Content-Encoding", "Etag", "Last-Modified", "Accept-Ranges"} {
		h.Del(of) // they were of the answer that did not come
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(f.Status)
	_, _ = w.Write(b)
}
