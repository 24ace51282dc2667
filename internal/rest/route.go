package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/throttle"
)

// services are the bindings of rest.yaml: each service with the first segments, behind /v1, of its paths. A segment that
// is not here is not found.
var services = []struct {
	segments []string
	register func(context.Context, *runtime.ServeMux, grpc.ClientConnInterface) error
}{
	{[]string{"call", "calls"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterCallServiceHandlerClient(ctx, m, v1.NewCallServiceClient(c))
	}},
	{[]string{"agents"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterAgentServiceHandlerClient(ctx, m, v1.NewAgentServiceClient(c))
	}},
	{[]string{"phone-numbers"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterPhoneNumberServiceHandlerClient(ctx, m, v1.NewPhoneNumberServiceClient(c))
	}},
	{[]string{"agents"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterActionServiceHandlerClient(ctx, m, v1.NewActionServiceClient(c))
	}},
	{[]string{"call-tags", "calls"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterCallTagServiceHandlerClient(ctx, m, v1.NewCallTagServiceClient(c))
	}},
	{[]string{"contact"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterContactServiceHandlerClient(ctx, m, v1.NewContactServiceClient(c))
	}},
	{[]string{"custom-fields"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterCustomFieldServiceHandlerClient(ctx, m, v1.NewCustomFieldServiceClient(c))
	}},
	{[]string{"do-not-call"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterDoNotCallServiceHandlerClient(ctx, m, v1.NewDoNotCallServiceClient(c))
	}},
	{[]string{"campaigns", "campaign"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterCampaignServiceHandlerClient(ctx, m, v1.NewCampaignServiceClient(c))
	}},
	{[]string{"usage"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterUsageServiceHandlerClient(ctx, m, v1.NewUsageServiceClient(c))
	}},
	{[]string{"agent"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterPairingServiceHandlerClient(ctx, m, v1.NewPairingServiceClient(c))
	}},
	{[]string{"api-keys"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterApiKeyServiceHandlerClient(ctx, m, v1.NewApiKeyServiceClient(c))
	}},
	{[]string{"workspace"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterWorkspaceServiceHandlerClient(ctx, m, v1.NewWorkspaceServiceClient(c))
	}},
	{[]string{"tool-accesses"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterAssistantServiceHandlerClient(ctx, m, v1.NewAssistantServiceClient(c))
	}},
	{[]string{"agent-builder"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterAgentBuilderServiceHandlerClient(ctx, m, v1.NewAgentBuilderServiceClient(c))
	}},
	{[]string{"webhook-deliveries"}, func(ctx context.Context, m *runtime.ServeMux, c grpc.ClientConnInterface) error {
		return v1.RegisterWebhookServiceHandlerClient(ctx, m, v1.NewWebhookServiceClient(c))
	}},
}

// aliases are the paths that the specification writes without /v1; they and everything below them answer as with it.
var aliases = []string{"/call", "/contact", "/campaign", "/agent-builder", "/agent/onboarding"}

// canonical is the path behind an alias.
func canonical(path string) string {
	for _, a := range aliases {
		if below, ok := strings.CutPrefix(path, a); ok && (below == "" || below[0] == '/') {
			return "/v1" + path
		}
	}
	return path
}

// surface is what lies below one first segment.
type surface struct {
	mux   *runtime.ServeMux
	probe *runtime.ServeMux // the same routes, for asking whether there is one
}

// surfaces builds the muxes. The gateway tries its patterns one after another, so each segment has a mux of its own.
func (h *handler) build() error {
	h.surfaces = map[string]surface{}
	for _, s := range services {
		for _, segment := range s.segments {
			f, ok := h.surfaces[segment]
			if !ok {
				f = surface{mux: h.newMux(), probe: newProbe()}
				h.surfaces[segment] = f
			}
			for _, m := range []*runtime.ServeMux{f.mux, f.probe} {
				if err := s.register(context.Background(), m, h.conn); err != nil {
					return fmt.Errorf("register %s: %w", segment, err)
				}
			}
		}
	}
	for _, m := range []*runtime.ServeMux{h.surfaces["call"].mux, h.surfaces["call"].probe} {
		if err := m.HandlePath(http.MethodGet, recordingPath, h.recording); err != nil {
			return fmt.Errorf("register %s: %w", recordingPath, err)
		}
	}
	return nil
}

func (h *handler) newMux() *runtime.ServeMux {
	return runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, codec{}),
		runtime.SetQueryParameterParser(queryParser{}), // sets a variable of the gateway's package, for all muxes
		runtime.WithForwardResponseRewriter(h.envelope),
		runtime.WithErrorHandler(h.fail),
		runtime.WithRoutingErrorHandler(h.lost),
		runtime.WithIncomingHeaderMatcher(headerIn),
		runtime.WithMetadata(origin),
		runtime.WithOutgoingHeaderMatcher(headerOut),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithWriteContentLength(),
		// Else a form-encoded POST falls through to GET handlers and X-HTTP-Method-Override is honoured.
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
}

// headerIn are the headers that become metadata of the call; Authorization always does.
func headerIn(name string) (string, bool) {
	switch name {
	case "Service-Version", "X-Request-Id", "Idempotency-Key":
		return strings.ToLower(name), true
	}
	return "", false
}

// origin tells the services where a request comes from. They believe it only on the connection inside the process.
func origin(_ context.Context, r *http.Request) metadata.MD {
	return metadata.Pairs("client-address", throttle.Address(r.RemoteAddr))
}

// headerOut are the metadata of an answer that become headers. The request id and the version are set here on every
// answer, whether a service gave it or not.
func headerOut(name string) (string, bool) {
	switch name {
	case "idempotency-replayed", "cache-control":
		return name, true
	}
	return "", false
}

// found is the writer that a probe answers to.
type found struct {
	http.ResponseWriter
	yes bool
}

func newProbe() *runtime.ServeMux {
	return runtime.NewServeMux(
		runtime.WithMiddlewares(func(runtime.HandlerFunc) runtime.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request, _ map[string]string) { w.(*found).yes = true }
		}),
		runtime.WithRoutingErrorHandler(func(context.Context, *runtime.ServeMux, runtime.Marshaler, http.ResponseWriter,
			*http.Request, int) {
		}),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
	)
}

// allowed are the methods that a path has, for the Allow header; empty for a path that there is not.
func (h *handler) allowed(r *http.Request, f surface) string {
	var methods []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodPatch, http.MethodPost, http.MethodPut} {
		q := r.WithContext(r.Context())
		q.Method = method
		w := &found{}
		if f.probe.ServeHTTP(w, q); !w.yes {
			continue
		}
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	if len(methods) == 0 {
		return ""
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}
