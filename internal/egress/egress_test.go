package egress_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/egress"
)

func TestADeliveryArrivesAsItWasMeant(t *testing.T) {
	type seen struct {
		method, proto, body, host string
		header                    http.Header
	}
	got := make(chan seen, 2)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.Proto, string(body), r.Host, r.Header}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "thanks")
	}))
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c := egress.New(egress.Config{
		AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, RootCAs: roots, UserAgent: "Callwright/9",
	})
	defer c.Close()
	request := egress.Request{Method: "POST", URL: server.URL + "/hook", Body: []byte("{}"), Header: http.Header{
		"Content-Type": {"application/json"}, "X-Delivery-Id": {"d1"},
	}}

	resp, err := c.Do(t.Context(), egress.Webhook, request)

	require.NoError(t, err)
	require.Equal(t, 202, resp.Status)
	require.Equal(t, "thanks", string(resp.Body))
	require.Equal(t, "7", resp.Header.Get("Retry-After"))
	require.Equal(t, server.URL+"/hook", resp.URL)
	s := <-got
	require.Equal(t, []string{"POST", "HTTP/1.1", "{}"}, []string{s.method, s.proto, s.body})
	require.Equal(t, "Callwright/9", s.header.Get("User-Agent"))
	require.Equal(t, "d1", s.header.Get("X-Delivery-Id"))
	require.Equal(t, "application/json", s.header.Get("Content-Type"))
	require.Empty(t, s.header.Get("Accept-Encoding"), "what is stored is what was sent")

	request.Header.Set("User-Agent", "shop/1")
	_, err = c.Do(t.Context(), egress.Webhook, request)
	require.NoError(t, err)
	require.Equal(t, "shop/1", (<-got).header.Get("User-Agent"))
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	port, connections := listen(t, "127.0.0.1:0", func(conn net.Conn) {
		for {
			buffer := make([]byte, 4096)
			if _, err := conn.Read(buffer); err != nil {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	c := egress.New(egress.Config{AllowPrivate: true})
	defer c.Close()
	for range 5 {
		_, err := c.Do(t.Context(), egress.Webhook, egress.Request{URL: "http://127.0.0.1:" + port})
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, connections.Load())
}

func TestFailuresHaveTheirClass(t *testing.T) {
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = quiet
	untrusted.StartTLS()
	defer untrusted.Close()
	plain, _ := listen(t, "127.0.0.1:0", func(conn net.Conn) { io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); gone(conn) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	deaf := l.Addr().String()
	nowhere := resolver(t, func(string) []netip.Addr { return nil })
	c := egress.New(egress.Config{AllowPrivate: true, Resolver: nowhere})
	defer c.Close()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := map[string]struct {
		ctx   context.Context
		r     egress.Request
		class egress.Class
	}{
		"a name that does not resolve":     {t.Context(), egress.Request{URL: "https://gone.example.test"}, egress.DNS},
		"nobody listens":                   {t.Context(), egress.Request{URL: "http://" + deaf}, egress.Connect},
		"a certificate of nobody":          {t.Context(), egress.Request{URL: untrusted.URL}, egress.TLS},
		"no TLS where TLS should be":       {t.Context(), egress.Request{URL: "https://127.0.0.1:" + plain}, egress.TLS},
		"the caller went away":             {canceled, egress.Request{URL: "http://127.0.0.1:" + plain}, egress.Canceled},
		"an address that is none":          {t.Context(), egress.Request{URL: "http://a b"}, egress.InvalidRequest},
		"a method that is none":            {t.Context(), egress.Request{Method: "A B", URL: "http://127.0.0.1:" + plain}, egress.InvalidRequest},
		"a header that breaks the framing": {t.Context(), egress.Request{URL: "http://127.0.0.1:" + plain, Header: http.Header{"Host": {"x"}}}, egress.InvalidRequest},
		"a header with a line break":       {t.Context(), egress.Request{URL: "http://127.0.0.1:" + plain, Header: http.Header{"X": {"a\nb"}}}, egress.InvalidRequest},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.r.Timeout = patience
			_, err := c.Do(tc.ctx, egress.Webhook, tc.r)
			var e *egress.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tc.class, e.Class, "%v", err)
			require.NotEmpty(t, e.Class.Sentence())
		})
	}
	require.Equal(t, egress.Protocol, egress.ClassOf(errors.New("of another origin")))
}

func TestTheTimeoutCountsFromTheStartOverRedirects(t *testing.T) {
	site := serveOn(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
			return
		}
		http.Redirect(w, r, "/slow", http.StatusFound)
	})
	c := egress.New(egress.Config{AllowPrivate: true})
	defer c.Close()
	resp, err := c.Do(t.Context(), egress.Crawl, egress.Request{URL: site, Timeout: 300 * time.Millisecond})
	require.Equal(t, egress.Timeout, egress.ClassOf(err))
	require.Equal(t, site+"/slow", resp.URL, "where it got stuck")
}
