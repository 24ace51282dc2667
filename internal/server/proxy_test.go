package server_test

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/server"
)

// The client is the right-most address that no trusted proxy has, whatever stands left of it.
func TestTheClientIsWhoStandsBehindTrustedProxies(t *testing.T) {
	const xff, std = "X-Forwarded-For", "Forwarded"
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		headers [][2]string
		want    string
	}{
		"nobody is trusted by default":           {nil, [][2]string{{xff, "1.2.3.4"}}, "127.0.0.1"},
		"another network is trusted":             {trusted[1:], [][2]string{{xff, "1.2.3.4"}}, "127.0.0.1"},
		"no header":                              {trusted, nil, "127.0.0.1"},
		"one proxy":                              {trusted, [][2]string{{xff, "1.2.3.4"}}, "1.2.3.4"},
		"the client wrote one before":            {trusted, [][2]string{{xff, "8.8.8.8, 1.2.3.4"}}, "1.2.3.4"},
		"in a line of its own":                   {trusted, [][2]string{{xff, "8.8.8.8"}, {xff, "1.2.3.4"}}, "1.2.3.4"},
		"the client claims to be a proxy":        {trusted, [][2]string{{xff, "10.9.9.9, 1.2.3.4"}}, "1.2.3.4"},
		"two proxies":                            {trusted, [][2]string{{xff, "8.8.8.8, 1.2.3.4, 10.0.0.7"}}, "1.2.3.4"},
		"all are proxies":                        {trusted, [][2]string{{xff, "10.0.0.1, 10.0.0.7"}}, "10.0.0.1"},
		"with a port":                            {trusted, [][2]string{{xff, "1.2.3.4:5678"}}, "1.2.3.4"},
		"IPv6":                                   {trusted, [][2]string{{xff, "2001:db8:2::1, 2001:db8:1::9"}}, "2001:db8:2::1"},
		"IPv6 in brackets with a port":           {trusted, [][2]string{{xff, "[2001:db8:2::1]:44"}}, "2001:db8:2::1"},
		"IPv4 in IPv6":                           {trusted, [][2]string{{xff, "::ffff:1.2.3.4"}}, "1.2.3.4"},
		"unreadable":                             {trusted, [][2]string{{xff, "1.2.3.4, unknown"}}, "127.0.0.1"},
		"unreadable behind a second proxy":       {trusted, [][2]string{{xff, "1.2.3.4, x, 10.0.0.7"}}, "10.0.0.7"},
		"empty":                                  {trusted, [][2]string{{xff, ""}}, "127.0.0.1"},
		"standard":                               {trusted, [][2]string{{std, "for=1.2.3.4"}}, "1.2.3.4"},
		"standard, all members":                  {trusted, [][2]string{{std, `for=8.8.8.8;by=x, proto=https; For="[2001:db8:2::1]:47" ;host=a`}}, "2001:db8:2::1"},
		"standard, hidden":                       {trusted, [][2]string{{std, "for=1.2.3.4, for=_hidden"}}, "127.0.0.1"},
		"standard, without for":                  {trusted, [][2]string{{std, "for=1.2.3.4, proto=https"}}, "127.0.0.1"},
		"both agree":                             {trusted, [][2]string{{xff, "1.2.3.4"}, {std, "for=1.2.3.4"}}, "1.2.3.4"},
		"the client added the one we read last":  {trusted, [][2]string{{xff, "1.2.3.4"}, {std, "for=8.8.8.8"}}, "127.0.0.1"},
		"the client added the one we read first": {trusted, [][2]string{{xff, "8.8.8.8"}, {std, "for=1.2.3.4"}}, "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := openWith(t, func(s *server.Server) {
				s.Mount("/where", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					at, err := netip.ParseAddrPort(r.RemoteAddr)
					if err == nil {
						_, _ = io.WriteString(w, at.Addr().String())
					}
				}))
			}, func(cfg *server.Config) { cfg.TrustedProxies = c.trusted })
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+"/where", nil)
			require.NoError(t, err)
			for _, h := range c.headers {
				req.Header.Add(h[0], h[1])
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))

			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer full")
			for _, h := range c.headers {
				ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(h[0]), h[1])
			}
			answer, err := v1.NewCallServiceClient(h.tcp).GetCall(ctx, &v1.GetCallRequest{Id: "origin"})
			require.NoError(t, err)
			require.Equal(t, c.want, answer.GetCall().GetFrom(), "over gRPC")
		})
	}
}
