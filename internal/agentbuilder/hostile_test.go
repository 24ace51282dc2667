package agentbuilder_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/store/storetest"
)

// page is a page with something to say.
func page(w io.Writer, title, body string) {
	fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>%s</title></head><body><h1>%s</h1>%s</body></html>`, title, title, body)
}

// Each address that can not become an agent is refused for its reason, in a sentence that says what to do.
func TestAddressesThatComeToNothingSayWhy(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	plainly := serve(t, func(w http.ResponseWriter, _ *http.Request) { page(w, "Plain", "<p>Hello there.</p>") })
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // nobody knows its certificate
	t.Cleanup(secure.Close)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { mute.Close() })
	go func() {
		for {
			c, err := mute.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("220 mail.example ESMTP\r\n"))
			c.Close()
		}
	}()
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private\n\nUser-agent: callwright\nDisallow: /ours\n")
		case path == "/gone":
			http.NotFound(w, r)
		case path == "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		case path == "/broken":
			w.WriteHeader(http.StatusBadGateway)
		case path == "/file":
			w.Header().Set("Content-Type", "application/pdf")
			fmt.Fprint(w, "%PDF-1.7")
		case path == "/data":
			w.Write([]byte("\x89PNG\r\n\x1a\n")) // without a type: found out
		case path == "/empty":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<html><head><title>App</title><script src="app.js"></script></head><body><div id="root"></div></body></html>`)
		case path == "/loop":
			http.Redirect(w, r, "/loop?"+fmt.Sprint(time.Now().UnixNano()), http.StatusFound)
		case path == "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case path == "/to-ours":
			http.Redirect(w, r, "/ours/page", http.StatusFound)
		case path == "/scheme":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	badRobots := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })

	db := storetest.SQLite(t)
	r := newRig(t, db, answers(goodDraft))
	for address, want := range map[string][2]string{
		"http://no-such-host.invalid/": {"address_unknown", "does not resolve"},
		closed.URL:                     {"connection_failed", "dropped the connection"},
		secure.URL:                     {"tls_failed", "certificate"},
		strings.Replace(plainly.URL, "http:", "https:", 1): {"tls_failed", "certificate"},
		"http://" + mute.Addr().String():                   {"not_a_web_page", "does not answer as a website"},
		web.URL + "/ours/page":                             {"robots_refused", "Allow the user agent Callwright"},
		web.URL + "/to-ours":                               {"robots_refused", "robots.txt"},
		badRobots.URL:                                      {"site_error", "HTTP 503"},
		web.URL + "/gone":                                  {"page_not_found", "HTTP 404"},
		web.URL + "/forbidden":                             {"site_refused", "HTTP 403"},
		web.URL + "/broken":                                {"site_error", "HTTP 502"},
		web.URL + "/file":                                  {"not_a_web_page", "application/pdf"},
		web.URL + "/data":                                  {"not_a_web_page", "image/png"},
		web.URL + "/empty":                                 {"no_readable_page", "without running its scripts"},
		web.URL + "/loop":                                  {"too_many_redirects", "redirects"},
		web.URL + "/metadata":                              {"address_refused", "not public"},
		web.URL + "/scheme":                                {"address_refused", "not public"},
	} {
		row := r.submit(t, address, "Be kind.")
		require.NoError(t, r.step(row, agentbuilder.StepRead, 1), address)
		row = r.get(t, row)
		require.Equal(t, []string{agentbuilder.Failed, want[0]}, []string{row.Status, row.ErrorCode}, address)
		require.Contains(t, row.Error, want[1], address)
		require.True(t, strings.HasSuffix(row.Error, "."), "a sentence: %s", row.Error)
		require.NotContains(t, row.Error, "127.0.0.1:", "nothing of our network") // hosts are named without their port
		require.NotNil(t, row.FinishedAt)
		require.Zero(t, r.agents(t))
	}
	require.False(t, slices.Contains(web.requests(), "/ours/page"))
	row := r.submit(t, plainly.URL, "")
	require.NoError(t, r.step(row, agentbuilder.StepRead, 1), "and one that works")
	require.Equal(t, agentbuilder.StepWrite, r.get(t, row).Step)
}

// With the strict guard of production nothing private is dialed, wherever a public page sends us: by redirect, by link, by
// sitemap, by robots.txt.
func TestNothingPrivateIsReachedByWayOfAPublicSite(t *testing.T) {
	public, err := net.Listen("tcp", "127.0.0.2:8443") // stands for a public host
	if err != nil {
		t.Skip("SKIPPED: 127.0.0.2:8443 is taken: ", err)
	}
	inside, err := net.Listen("tcp", "127.0.0.3:8443")
	if err != nil {
		public.Close()
		t.Skip("SKIPPED: 127.0.0.3:8443 is taken: ", err)
	}
	var touched atomic.Int32
	go func() {
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			touched.Add(1)
			c.Close()
		}
	}()
	var asked sync.Map
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.URL.Path, true)
		secret := "http://127.0.0.3:8443"
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprintf(w, "Sitemap: %s/sitemap.xml\nSitemap: http://127.0.0.2:8443/map.xml\n", secret)
		case "/map.xml":
			fmt.Fprintf(w, "<sitemapindex><sitemap><loc>%s/s.xml</loc></sitemap></sitemapindex>", secret)
		case "/":
			page(w, "Public", `<p>Welcome.</p><a href="/about">About</a> <a href="`+secret+`/admin">Admin</a><base href="/">`)
		case "/about", "/redirect":
			http.Redirect(w, r, secret+"/admin", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})}
	go server.Serve(public)
	t.Cleanup(func() { server.Close(); inside.Close() })

	out := egress.New(egress.Config{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}})
	t.Cleanup(out.Close)
	r := newRigWith(t, storetest.SQLite(t), nil, out)
	row := r.submit(t, "http://127.0.0.2:8443/redirect", "")
	require.NoError(t, r.step(row, agentbuilder.StepRead, 1))
	require.Equal(t, "address_refused", r.get(t, row).ErrorCode)

	r.made(t, r.build(t, "http://127.0.0.2:8443/", ""))
	_, about := asked.Load("/about")
	require.True(t, about)
	require.Zero(t, touched.Load(), "no connection to the private host")
}

// zeros is a gzip of so many zero bytes, made while it is sent.
func zeros(w io.Writer, size int64) {
	z := gzip.NewWriter(w)
	chunk := make([]byte, 1<<20)
	for ; size > 0; size -= int64(len(chunk)) {
		if _, err := z.Write(chunk); err != nil {
			return
		}
	}
	z.Close()
}

// hostile does what a site can do to a reader: it holds it up, floods it, and sends it round in circles.
func hostile(t *testing.T) *site {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	var s *site
	s = serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch path := r.URL.Path; {
		case path == "/":
			page(w, "Castle Inn", `<p>Rooms from 80 a night.</p><a href="/bomb">Contact</a> <a href="/bomb-file">About us</a> <a href="/endless">FAQ</a>
				<a href="/drip">Opening hours</a> <a href="/deep">Prices</a> <a href="/wide">Services</a> <a href="/away">Booking</a> <a href="/maze/1">Menu</a>
				<a href="/calendar/2026/11">Visit</a> <a href="/a/b/a/b/a/b">Loop</a> <a href="/same?session=1">Same</a>`)
		case path == "/robots.txt":
			io.WriteString(w, "User-agent: *\n")
			for range 100_000 {
				io.WriteString(w, "Disallow: /*x*y*z*$\n")
			}
		case path == "/sitemap.xml":
			io.WriteString(w, "<sitemapindex>")
			for i := range 50_000 {
				fmt.Fprintf(w, "<sitemap><loc>%s/sitemap-%d.xml</loc></sitemap>", s.URL, i)
			}
		case strings.HasPrefix(path, "/sitemap-"):
			fmt.Fprintf(w, "<sitemapindex><sitemap><loc>%s/sitemap-%d.xml</loc></sitemap></sitemapindex>", s.URL, time.Now().UnixNano())
		case path == "/bomb": // 1 GB of zeros in 1 MB
			w.Header().Set("Content-Encoding", "gzip")
			zeros(w, 1<<30)
		case path == "/bomb-file":
			zeros(w, 1<<30)
		case path == "/endless":
			for {
				if _, err := io.WriteString(w, strings.Repeat("<p>We are open all day, every day, for ever.</p>", 1000)); err != nil {
					return
				}
			}
		case path == "/drip":
			for {
				if _, err := io.WriteString(w, "<p>slow</p>"); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-stop:
					return
				case <-r.Context().Done():
					return
				case <-time.After(100 * time.Millisecond):
				}
			}
		case path == "/deep":
			io.WriteString(w, strings.Repeat("<div>", 300_000)+"deep")
		case path == "/wide":
			io.WriteString(w, "<table>"+strings.Repeat("<tr><td>a<td>b<td>c", 60_000)+strings.Repeat("<b><i><p>", 20_000))
		case path == "/away":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		case strings.HasPrefix(path, "/maze"), strings.HasPrefix(path, "/calendar"), strings.HasPrefix(path, "/same"), strings.HasPrefix(path, "/x"):
			n := time.Now().UnixNano()
			page(w, fmt.Sprint("Maze ", n), fmt.Sprintf(`<a href="/maze/%d">on</a> <a href="/maze/%d/%d">deeper</a> <a href="/same?session=%d">same</a>
				<a href="/x%d">x</a> <a href="/maze/1/2/3/4/5/6/7/8/9">far</a>`, n, n, n, n, n))
		default:
			http.NotFound(w, r)
		}
	})
	return s
}

func TestAHostileSiteIsReadWithinBounds(t *testing.T) {
	web := hostile(t)
	r := newRig(t, storetest.SQLite(t), nil)
	r.worker.Hurry(60*time.Second, 2*time.Second)
	row := r.submit(t, web.URL, "")

	var most atomic.Uint64
	watched := make(chan struct{})
	var watching sync.WaitGroup
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	watching.Go(func() {
		var m runtime.MemStats
		for {
			select {
			case <-watched:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&m)
				most.Store(max(most.Load(), m.HeapInuse))
			}
		}
	})
	began := time.Now()
	require.NoError(t, r.step(row, agentbuilder.StepRead, 1))
	took := time.Since(began)
	close(watched)
	watching.Wait()
	row = r.get(t, row)
	t.Logf("%d found, %d read, %d requests in %.1f s; heap %d MB above the start at most", row.PagesFound, row.PagesRead,
		len(web.requests()), took.Seconds(), (int64(most.Load())-int64(before.HeapInuse))>>20)

	require.Equal(t, agentbuilder.StepWrite, row.Step, "%s: %s", row.ErrorCode, row.Error)
	require.LessOrEqual(t, row.PagesRead, 20)
	require.LessOrEqual(t, len(web.requests()), 70)
	require.LessOrEqual(t, row.PagesFound, 600)
	require.Less(t, int64(most.Load())-int64(before.HeapInuse), int64(200<<20))
	require.Less(t, len(row.Pages), 2<<20)
	require.NoError(t, r.step(row, agentbuilder.StepWrite, 1))
	s := r.made(t, r.get(t, row))
	require.Equal(t, "Castle Inn", *s.CompanyName)
	require.Contains(t, *s.Instruction, "Rooms from 80 a night")
	maze := 0
	for _, p := range web.requests() {
		if strings.HasPrefix(p, "/maze/") {
			maze++
		}
		require.NotContains(t, p, "/calendar/")
		require.NotContains(t, p, "/a/b/a")
	}
	require.LessOrEqual(t, maze, 8, "links that a program makes")
}

// A crawl that is over its time ends with what it has; one that has nothing says that the site is slow.
func TestATimeThatIsOverEndsTheReading(t *testing.T) {
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	var late atomic.Bool
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.URL.Path != "/quick" || late.Load() {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
			return
		}
		page(w, "Slow "+r.URL.Path, `<p>Text of `+r.URL.Path+`.</p><a href="/quick">About</a> <a href="/two">Two</a> <a href="/three">Three</a> <a href="/four">4</a>`)
	})
	web.Config.Handler = readable(web.Config.Handler)
	r := newRig(t, storetest.SQLite(t), nil)
	r.worker.Hurry(2*time.Second, 500*time.Millisecond)
	row := r.submit(t, web.URL, "")
	require.NoError(t, r.step(row, agentbuilder.StepRead, 1))
	require.Equal(t, 2, r.get(t, row).PagesRead)
	require.Equal(t, agentbuilder.StepWrite, r.get(t, row).Step)

	late.Store(true)
	row = r.submit(t, web.URL, "")
	require.NoError(t, r.step(row, agentbuilder.StepRead, 1))
	require.Equal(t, "timeout", r.get(t, row).ErrorCode)
	require.Contains(t, r.get(t, row).Error, "did not answer in time")
}

// readable has no robots.txt.
func readable(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func TestCharacterSetsAndCompression(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		body   []byte
	}{
		"UTF-8 by the header":     {"text/html; charset=utf-8", []byte("<title>x</title><p>Grüße aus Kiel</p>")},
		"Latin-1 by the header":   {"text/html; charset=iso-8859-1", []byte("<p>Gr\xfc\xdfe aus Kiel</p>")},
		"Latin-1 by the page":     {"text/html", []byte("<meta charset=iso-8859-1><p>Gr\xfc\xdfe aus Kiel</p>")},
		"UTF-16 by its mark":      {"text/html", utf16("<p>Grüße aus Kiel</p>")},
		"Windows-1252 by a guess": {"text/html", []byte("<p>Gr\xfc\xdfe aus Kiel</p>")},
		"an unknown one":          {"text/html; charset=klingon", []byte("<meta charset=utf-8><p>Grüße aus Kiel</p>")},
		"invalid bytes and NUL":   {"text/html; charset=utf-8", []byte("<p>Grüße\x00 aus \xff\xfeKiel\u200b</p>")},
	} {
		p, _, err := agentbuilder.Read("https://example.com/", c.header, c.body)
		require.NoError(t, err, name)
		got := strings.Join(strings.Fields(strings.ReplaceAll(p.Markdown, "\ufffd", " ")), " ")
		require.Equal(t, "Grüße aus Kiel", got, name)
	}
}

func utf16(s string) []byte {
	b := []byte{0xff, 0xfe}
	for _, r := range s {
		b = append(b, byte(r), byte(r>>8))
	}
	return b
}

// BenchmarkRead reads the largest pages that there can be.
func BenchmarkRead(b *testing.B) {
	for name, body := range map[string]string{
		"plain":   "<p>" + strings.Repeat("We are open all day, every day. ", 60_000),
		"endless": strings.Repeat("<p>We are open all day, every day, for ever.</p>", 43_000),
		"wide":    "<table>" + strings.Repeat("<tr><td>a<td>b<td>c", 100_000),
		"bold":    strings.Repeat("<b><i><p>", 200_000),
		"links":   strings.Repeat(`<a href="/x">y</a>`, 110_000),
		"quoted":  strings.Repeat("<blockquote>", 480) + strings.Repeat("We are open. ", 100_000),
		"usual":   string(file(b, "restaurant/index.html")),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				agentbuilder.Read("https://example.com/", "text/html", []byte(body))
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(injected))
	f.Add([]byte(`<script type="application/ld+json">[{"@type":["Store",1],"name":{"@value":"x"},"address":[{}],"openingHoursSpecification":{"dayOfWeek":7}}]</script>`))
	f.Add(bytes.Repeat([]byte("<table><tr><td>"), 50))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, _, err := agentbuilder.Read("https://example.com/", "text/html", body)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len([]rune(p.Markdown)), 20_000)
		require.NotContains(t, p.Markdown+p.Title+p.Description, "{{")
		require.NotContains(t, p.Markdown+p.Title+p.Description, "\x00")
	})
}

func FuzzSitemap(f *testing.F) {
	f.Add([]byte("<urlset><url><loc>https://example.com/</loc></url></urlset>"))
	f.Add([]byte("https://example.com/\nhttps://example.com/a"))
	f.Add([]byte(`<!DOCTYPE x [<!ENTITY a "&b;&b;">]><urlset><loc>&a;</loc>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		pages, more := agentbuilder.Locs(body)
		require.LessOrEqual(t, len(pages)+len(more), 2001)
	})
}
