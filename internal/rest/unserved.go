package rest

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// Services log and count the calls that reach them. What is refused before is logged and counted here.

// noting is the connection to the services; the exchange learns that one was asked.
type noting struct{ grpc.ClientConnInterface }

func (c noting) Invoke(ctx context.Context, method string, in, out any, opts ...grpc.CallOption) error {
	if x := exchangeOf(ctx); x != nil {
		x.served = true
	}
	return c.ClientConnInterface.Invoke(ctx, method, in, out, opts...)
}

func (c noting) NewStream(ctx context.Context, d *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if x := exchangeOf(ctx); x != nil {
		x.served = true
	}
	return c.ClientConnInterface.NewStream(ctx, d, method, opts...)
}

// unserved counts what no service was asked for.
type unserved struct {
	byCode *prometheus.CounterVec
	// Throttled requests may be many: one line a second says how many they were since the last.
	throttled, spoken *atomic.Int64
}

func newUnserved(reg prometheus.Registerer) unserved {
	r := unserved{throttled: new(atomic.Int64), spoken: new(atomic.Int64), byCode: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "callwright_rest_refused_total", Help: "REST requests refused before a service was asked, by error_code."}, []string{"code"})}
	if reg != nil {
		reg.MustRegister(r.byCode)
	}
	return r
}

// note writes the line of a request that no service has seen, like those that services write. Its path may hold anything
// and is not in it.
func (h *handler) note(x *exchange, r *http.Request, start time.Time) {
	if x.refused == "" || x.served {
		return
	}
	h.unserved.byCode.WithLabelValues(x.refused).Inc()
	requests := int64(1)
	if x.refused == errRate.Code {
		h.unserved.throttled.Add(1)
		now, last := start.Unix(), h.unserved.spoken.Load()
		if now <= last || !h.unserved.spoken.CompareAndSwap(last, now) {
			return
		}
		requests = h.unserved.throttled.Swap(0)
	}
	segment, _, _ := strings.Cut(strings.TrimPrefix(canonical(r.URL.Path), "/v1/"), "/")
	if _, known := h.surfaces[segment]; !known {
		segment = ""
	}
	level := slog.LevelInfo
	if x.refused == "internal_error" {
		level = slog.LevelError
	}
	h.log.LogAttrs(r.Context(), level, "refused", slog.String("verb", r.Method), slog.String("resource", segment),
		slog.String("code", x.refused), slog.Duration("took", time.Since(start)), slog.String("request_id", x.id), slog.Int64("requests", requests))
}

// refuse answers with a fault that the request itself has. Who has no right to ask is told that first: a credential that
// was good a moment ago, or has not been looked at, is looked at now.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, f *fault.Error) {
	x, ok := w.(*exchange)
	if !ok || x.served || x.open || h.caller == nil || f.Kind != fault.Invalid && f.Kind != fault.TooLarge {
		refuse(w, f)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if _, err := h.caller(ctx, bearer(r)); err != nil {
		if no := fault.From(err); no.Kind == fault.Unauthenticated {
			f = no
		}
	}
	refuse(w, f)
}

// openRoutes are the bindings of methods that need no credential. Their paths have no parameters.
func openRoutes() map[string]bool {
	open := map[string]bool{}
	for _, rule := range callwrightv1.RESTRules {
		m := methodOf(rule.Method)
		if m == nil {
			continue
		}
		if auth, _ := proto.GetExtension(m.Options(), callwrightv1.E_Auth).(*callwrightv1.Auth); auth.GetPublic() {
			open[strings.ToUpper(rule.Verb)+" "+rule.Path] = true
		}
	}
	return open
}
