package egress_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cookiejar"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gocolly/colly/v2"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/egress"
)

var quiet = log.New(io.Discard, "", 0)

func TestACrawlFollowsFiveRedirectsAndAWebhookNone(t *testing.T) {
	site := serveOn(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes"})
		if n > 0 {
			http.Redirect(w, r, "/"+strconv.Itoa(n-1), http.StatusMovedPermanently)
			return
		}
		fmt.Fprintf(w, "cookies %d", len(r.Cookies()))
	})
	c := egress.New(egress.Config{AllowPrivate: true})
	defer c.Close()

	resp, err := c.Do(t.Context(), egress.Crawl, egress.Request{URL: site + "/5"})
	require.NoError(t, err)
	require.Equal(t, 200, resp.Status)
	require.Equal(t, site+"/0", resp.URL)
	require.Equal(t, "cookies 0", string(resp.Body))

	_, err = c.Do(t.Context(), egress.Crawl, egress.Request{URL: site + "/6"})
	require.Equal(t, egress.TooManyRedirects, egress.ClassOf(err))

	resp, err = c.Do(t.Context(), egress.Webhook, egress.Request{URL: site + "/1"})
	require.NoError(t, err)
	require.Equal(t, 301, resp.Status)

	resp, err = c.Do(t.Context(), egress.Crawl, egress.Request{Method: "POST", URL: site + "/1"})
	require.NoError(t, err)
	require.Equal(t, 301, resp.Status, "only reading is repeated elsewhere")
}

func TestCredentialsStayWithTheirHost(t *testing.T) {
	header := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Authorization")) }
	other := serveOn(t, "127.0.0.1:0", header)
	site := serveOn(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/other":
			http.Redirect(w, r, other, http.StatusFound)
		case "/same":
			http.Redirect(w, r, "/", http.StatusFound)
		default:
			header(w, r)
		}
	})
	c := egress.New(egress.Config{AllowPrivate: true})
	defer c.Close()
	for path, want := range map[string]string{"/same": "secret", "/other": ""} {
		resp, err := c.Do(t.Context(), egress.Crawl, egress.Request{URL: site + path, Header: http.Header{"Authorization": {"secret"}}})
		require.NoError(t, err)
		require.Equal(t, want, string(resp.Body), path)
	}
}

// bomb is 32 MiB of zeros in 32 KiB, packed once: that is what takes long.
var bomb = sync.OnceValue(func() string { return zipped(string(make([]byte, 32<<20))) })

// bombs serves the bomb as a content coding and as a file, and the same in plain.
func bombs(t *testing.T) string {
	return serveOn(t, "127.0.0.1:0", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, bomb())
		case "/sitemap.xml.gz":
			io.WriteString(w, bomb())
		case "/small.xml.gz":
			io.WriteString(w, zipped("<urlset/>"))
		case "/plain":
			w.Write(make([]byte, 32<<20))
		}
	})
}

func TestPagesAreCutAfterDecompression(t *testing.T) {
	site := bombs(t)
	c := egress.New(egress.Config{AllowPrivate: true})
	defer c.Close()
	_ = bomb() // before memory is measured
	for _, path := range []string{"/page", "/sitemap.xml.gz"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp, err := c.Do(t.Context(), egress.Crawl, egress.Request{URL: site + path, Timeout: patience})
		runtime.ReadMemStats(&after)
		require.NoError(t, err, path)
		require.Len(t, resp.Body, 2<<20, path)
		require.True(t, resp.Truncated, path)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(24<<20), path)
	}
	resp, err := c.Do(t.Context(), egress.Crawl, egress.Request{URL: site + "/plain", Timeout: patience})
	require.NoError(t, err)
	require.Len(t, resp.Body, 2<<20)
	resp, err = c.Do(t.Context(), egress.Crawl, egress.Request{URL: site + "/small.xml.gz"})
	require.NoError(t, err)
	require.Equal(t, "<urlset/>", string(resp.Body))
	require.False(t, resp.Truncated)
	resp, err = c.Do(t.Context(), egress.Crawl, egress.Request{URL: site + "/page", MaxBody: 100, Timeout: patience})
	require.NoError(t, err)
	require.Len(t, resp.Body, 100)
}

func TestACrawlingLibraryStandsBehindTheSameLimits(t *testing.T) {
	site := bombs(t)
	port, connections := canary(t)
	c := egress.New(egress.Config{AllowPrivate: true})
	defer c.Close()
	for _, path := range []string{"/page", "/sitemap.xml.gz", "/small.xml.gz", "/plain"} {
		var size int
		spider := colly.NewCollector(colly.MaxBodySize(0))
		spider.WithTransport(c.CrawlTransport())
		spider.SetRequestTimeout(patience)
		spider.OnResponse(func(r *colly.Response) { size = len(r.Body) })
		require.NoError(t, spider.Visit(site+path), path)
		want := 2 << 20
		if path == "/small.xml.gz" {
			want = len("<urlset/>")
		}
		require.Equal(t, want, size, path)
	}

	strict := egress.New(egress.Config{})
	defer strict.Close()
	spider := colly.NewCollector()
	spider.WithTransport(strict.CrawlTransport())
	for _, url := range []string{site, "http://localhost:" + port, "https://user@8.8.8.8/", "http://8.8.8.8:25/"} {
		require.Error(t, spider.Visit(url), url)
	}
	require.Zero(t, connections.Load())
}

func TestACrawlingLibraryCanNotBeHeldByAnUpgrade(t *testing.T) {
	port, _ := listen(t, "127.0.0.1:0", func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		gone(conn)
	})
	c := egress.New(egress.Config{AllowPrivate: true})
	defer c.Close()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	_, err = (&http.Client{Transport: c.CrawlTransport(), Jar: jar}).Do(get(t, "http://127.0.0.1:"+port))
	require.Equal(t, egress.Protocol, egress.ClassOf(err))
}
