package egress_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/egress"
)

var purposes = map[string]egress.Purpose{"webhook": egress.Webhook, "crawl": egress.Crawl}

// special are addresses that are no public host: the IANA registries' special purposes and the clouds' metadata.
var special = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.1.2.3",
	"169.254.169.254", "169.254.170.2", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192",
	"192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
	"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
	"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1",
	"64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1",
	"5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
}

var public = []string{
	"1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.167.1.1",
	"192.169.0.1", "169.253.1.1", "223.255.255.254", "2606:4700:4700::1111", "2001:4860:4860::8888",
	"2a00:1450:4001:80b::200e", "::ffff:8.8.8.8",
}

func TestNothingConnectsToASpecialAddress(t *testing.T) {
	require.GreaterOrEqual(t, len(special), 43)
	defer egress.AnyPort()()
	port, connections := canary(t)
	resolve := resolver(t, func(name string) []netip.Addr {
		i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "n"), ".example.test"))
		if err != nil {
			return nil
		}
		return []netip.Addr{netip.MustParseAddr(special[i])}
	})
	c := egress.New(egress.Config{Resolver: resolve})
	defer c.Close()
	for i, text := range special {
		for name, purpose := range purposes {
			t.Run(name+" "+text, func(t *testing.T) {
				literal := "https://" + net.JoinHostPort(text, port)
				named := "https://n" + strconv.Itoa(i) + ".example.test:" + port
				require.Error(t, c.CheckURL(purpose, "url", literal), "refused at submit")
				require.NoError(t, c.CheckURL(purpose, "url", named), "only the look-up shows it")
				for _, url := range []string{literal, named} {
					_, err := c.Do(t.Context(), purpose, egress.Request{URL: url})
					require.Equal(t, egress.RefusedAddress, egress.ClassOf(err), "%s: %v", url, err)
					_, err = c.Unchecked(purpose).RoundTrip(get(t, url))
					require.Equal(t, egress.RefusedAddress, egress.ClassOf(err), "dialing %s: %v", url, err)
				}
			})
		}
	}
	require.Zero(t, connections.Load())
}

func TestThePublicInternetMayBeReached(t *testing.T) {
	c := egress.New(egress.Config{})
	for _, text := range public {
		require.NoError(t, c.Permit(netip.MustParseAddr(text)), text)
		require.NoError(t, c.CheckURL(egress.Webhook, "url", "https://"+net.JoinHostPort(text, "443")), text)
	}
}

func TestNoSpellingOfLoopbackConnects(t *testing.T) {
	defer egress.AnyPort()()
	port, connections := canary(t)
	loopback := resolver(t, func(string) []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
	})
	hosts := []string{
		"localhost", "localhost.", "LOCALHOST", "a.localhost", "127.0.0.1", "127.0.0.1.", "127.1", "2130706433", "0x7f000001",
		"0x7f.1", "0177.0.0.1", "017700000001", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:7f00:1]", "[::ffff:127.0.0.1]",
		"0.0.0.0", "0", "[::]", "[::1%25lo]", "[64:ff9b::7f00:1]", "１２７.0.0.1", "127。0。0。1", "ⓛocalhost", "localhoſt",
		"example.com@127.0.0.1", "127.0.0.1:443@localhost", "printer.local", "metadata.google.internal", "intranet",
	}
	strict := egress.New(egress.Config{Resolver: loopback})
	defer strict.Close()
	for _, host := range hosts {
		for name, purpose := range purposes {
			url := "https://" + host + ":" + port + "/"
			require.Error(t, strict.CheckURL(purpose, "url", url), "%s %s", name, url)
			_, err := strict.Do(t.Context(), purpose, egress.Request{URL: url})
			require.Error(t, err, "%s %s", name, url)
			if req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil); err == nil {
				_, err = strict.Unchecked(purpose).RoundTrip(req)
				require.Error(t, err, "%s %s", name, url)
			}
		}
	}
	require.Zero(t, connections.Load(), "with the guard")

	// The control: the same addresses do lead here when private networks are allowed.
	open := egress.New(egress.Config{Resolver: loopback, AllowPrivate: true})
	defer open.Close()
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "[::ffff:7f00:1]", "a.example.test"} {
		before := connections.Load()
		resp, err := open.Do(t.Context(), egress.Webhook, egress.Request{URL: "http://" + host + ":" + port + "/"})
		require.NoError(t, err, host)
		require.Equal(t, "secret", string(resp.Body))
		require.Greater(t, connections.Load(), before, host)
	}
}

func TestANameThatChangesItsAddressAfterTheCheckIsRefused(t *testing.T) {
	port, connections := canary(t)
	var rebound atomic.Bool
	resolve := resolver(t, func(string) []netip.Addr {
		if rebound.Load() {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
		}
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}
	})
	c := egress.New(egress.Config{Resolver: resolve})
	defer c.Close()
	url := "https://rebind.example.test:" + port
	require.NoError(t, c.CheckURL(egress.Webhook, "url", url))
	first, err := resolve.LookupNetIP(t.Context(), "ip4", "rebind.example.test")
	require.NoError(t, err)
	require.NoError(t, c.Permit(first[0]), "a check before the dial would be satisfied")
	rebound.Store(true)

	_, err = c.Do(t.Context(), egress.Webhook, egress.Request{URL: url})

	require.Equal(t, egress.RefusedAddress, egress.ClassOf(err))
	require.Zero(t, connections.Load())
}

func TestARedirectToLoopbackIsRefused(t *testing.T) {
	defer egress.AnyPort()()
	port, connections := canary(t)
	loopback := resolver(t, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	for _, target := range []string{"http://127.0.0.1:", "http://internal.example.test:", "//localhost:"} {
		site := serveOn(t, "127.0.0.2:0", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target+port, http.StatusFound)
		})
		c := egress.New(egress.Config{Resolver: loopback, AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
		_, err := c.Do(t.Context(), egress.Crawl, egress.Request{URL: site})
		require.Equal(t, egress.RefusedAddress, egress.ClassOf(err), "%s: %v", target, err)
		_, err = (&http.Client{Transport: c.CrawlTransport()}).Get(site)
		require.Equal(t, egress.RefusedAddress, egress.ClassOf(err), "%s: %v", target, err)
		c.Close()
	}
	require.Zero(t, connections.Load())
}

func TestWhatAnOperatorOpensIsOpenAndNoMore(t *testing.T) {
	cidr := func(s string) egress.Config {
		return egress.Config{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix(s)}}
	}
	cases := map[string]struct {
		config egress.Config
		opens  []string
		closed []string
	}{
		"development opens private networks, not metadata or groups": {
			config: egress.Config{AllowPrivate: true},
			opens:  []string{"127.0.0.1", "::1", "10.1.2.3", "172.20.0.2", "192.168.1.1", "100.64.0.1", "fd12::1", "8.8.8.8"},
			closed: []string{"169.254.169.254", "fe80::1", "fd00:ec2::254", "100.100.100.200", "224.0.0.1", "0.0.0.0",
				"198.18.0.1", "168.63.129.16", "64:ff9b::7f00:1"},
		},
		"a network opens its addresses": {
			config: cidr("10.1.0.0/16"), opens: []string{"10.1.2.3", "::ffff:10.1.2.3"}, closed: []string{"10.2.0.1", "127.0.0.1"},
		},
		"a network does not open metadata within it": {
			config: cidr("0.0.0.0/0"), opens: []string{"10.2.0.1"}, closed: []string{"169.254.169.254", "168.63.129.16", "0.0.0.0"},
		},
		"metadata opens when listed by itself": {
			config: cidr("169.254.169.254/32"), opens: []string{"169.254.169.254"}, closed: []string{"169.254.169.253"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := egress.New(tc.config)
			for _, ip := range tc.opens {
				require.NoError(t, c.Permit(netip.MustParseAddr(ip)), ip)
			}
			for _, ip := range tc.closed {
				require.Error(t, c.Permit(netip.MustParseAddr(ip)), ip)
			}
		})
	}
}

func TestThePortsBelongToThePurpose(t *testing.T) {
	c := egress.New(egress.Config{})
	cases := []struct {
		purpose egress.Purpose
		port    string
		allowed bool
	}{
		{egress.Webhook, "443", true}, {egress.Webhook, "8443", true}, {egress.Webhook, "25", false}, {egress.Webhook, "80", false},
		{egress.Webhook, "0", false}, {egress.Webhook, "65536", false},
		{egress.Crawl, "80", true}, {egress.Crawl, "443", true}, {egress.Crawl, "8080", true}, {egress.Crawl, "6379", false},
		{egress.Crawl, "22", false},
	}
	for _, tc := range cases {
		url := "https://8.8.8.8:" + tc.port + "/"
		require.Equal(t, tc.allowed, c.CheckURL(tc.purpose, "url", url) == nil, "%v %s", tc.purpose, tc.port)
		if !tc.allowed {
			_, err := c.Do(t.Context(), tc.purpose, egress.Request{URL: url})
			require.Equal(t, egress.RefusedAddress, egress.ClassOf(err))
		}
	}
	_, err := c.Unchecked(egress.Crawl).RoundTrip(get(t, "http://8.8.8.8:6379/"))
	require.Equal(t, egress.RefusedAddress, egress.ClassOf(err), "the dialer knows the ports too")
}

func get(t *testing.T, url string) *http.Request {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	return req
}

// serveOn serves HTTP on an address until the end of the test and returns the server's URL.
func serveOn(t *testing.T, address string, handle http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: handle}}
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}
