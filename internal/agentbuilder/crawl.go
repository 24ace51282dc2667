package agentbuilder

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/egress"
)

// Bounds of a crawl. CONTRACT.md §2, Agent builder; reliability: no site holds a job for longer than a minute, whatever it
// does. The bound of a page's size, 2 MiB after decompression, is egress's.
const (
	maxPages    = 20 // that are kept
	maxRequests = 45 // for pages, also those that come to nothing
	maxDepth    = 2  // clicks from the page that was submitted
	maxTime     = 60 * time.Second
	pageTime    = 10 * time.Second // for one request with its redirects
	maxHops     = 5
)

// crawl reads one website. The design names colly for this; it has no crawl delay, asks no robots.txt about where a
// redirect leads and keeps no order of what is worth reading, and what would be left of it is the loop below.
type crawl struct {
	// pages asks robots.txt before it follows a redirect; plainHTTP, for robots.txt itself, does not.
	pages, plainHTTP *http.Client
	userAgent        string
	robots           map[string]*robots
	frontier         *frontier
	site             *Site
	texts            map[uint64]bool // of pages that were kept
	requests         int
	// progress is told how far it is.
	progress func(ctx context.Context, found, read int)
	clock
}

// clock is how long a crawl waits; tests wait less.
type clock struct {
	all, page time.Duration // in all, and for one request with its redirects
	pause     func(context.Context, time.Duration)
}

var realClock = clock{all: maxTime, page: pageTime, pause: pause}

func newCrawl(transport http.RoundTripper, userAgent string) *crawl {
	c := &crawl{
		userAgent: userAgent, robots: map[string]*robots{}, texts: map[uint64]bool{}, site: &Site{}, clock: realClock,
		progress: func(context.Context, int, int) {},
	}
	c.pages = &http.Client{Transport: transport, CheckRedirect: c.follow}
	c.plainHTTP = &http.Client{Transport: transport, CheckRedirect: hops}
	return c
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// run reads the site that an address leads to. It returns what it has when its time is over; the error is a *failure, or
// that of ctx.
func (c *crawl) run(parent context.Context, address string) (*Site, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, failuref("address_refused", "The address is not valid.")
	}
	u.Fragment, u.RawFragment = "", ""
	ctx, cancel := context.WithTimeout(parent, c.all)
	defer cancel()
	if err := c.enter(ctx, u); err != nil {
		if parent.Err() != nil {
			return nil, parent.Err()
		}
		return nil, unreachable(err, u.Hostname())
	}
	for len(c.site.Pages) < maxPages && c.requests < maxRequests && ctx.Err() == nil {
		next, ok := c.frontier.next()
		if !ok {
			break
		}
		c.visit(ctx, next)
		c.progress(ctx, c.frontier.found, len(c.site.Pages))
	}
	if parent.Err() != nil {
		return nil, parent.Err()
	}
	if len(c.site.Pages) == 0 {
		return nil, errNothing
	}
	c.site.tidy()
	return c.site, nil
}

// enter reads the submitted page and finds out what else there is.
func (c *crawl) enter(ctx context.Context, u *url.URL) error {
	allowed, err := c.allows(ctx, u)
	if err != nil {
		return err
	}
	if r := c.robots[u.Scheme+"://"+u.Host]; !allowed && r.status >= 500 {
		return failuref("site_error", "The site's robots.txt answered with an error (HTTP %d), so nothing was read. Try again later.", r.status)
	}
	if !allowed {
		return errRobots
	}
	a, err := c.get(ctx, u)
	for again := 0; again < 2 && err == nil && a.status >= 500; again++ { // many recover within seconds
		c.pause(ctx, time.Second)
		a, err = c.get(ctx, u)
	}
	switch {
	case err != nil:
		return err
	case a.status != http.StatusOK:
		return refusal(a.status)
	case !a.html():
		return notAPage(a.kind)
	}
	home := a.url
	c.site.URL = home.String()
	c.frontier = newFrontier(home)
	c.frontier.mark(home)
	c.frontier.found++
	c.keep(a, 0)
	c.progress(ctx, c.frontier.found, len(c.site.Pages))
	if strings.Trim(home.Path, "/") != "" {
		c.frontier.add(&url.URL{Scheme: home.Scheme, Host: home.Host, Path: "/"}, 1, "", false)
	}
	c.sitemaps(ctx, home)
	if c.frontier.found < 5 {
		for _, p := range usual {
			c.frontier.add(&url.URL{Scheme: home.Scheme, Host: home.Host, Path: p}, 1, "", true)
		}
	}
	c.progress(ctx, c.frontier.found, len(c.site.Pages))
	return nil
}

// visit reads one more page; one that can not be had is left out.
func (c *crawl) visit(ctx context.Context, next candidate) {
	if allowed, err := c.allows(ctx, next.url); err != nil || !allowed {
		return
	}
	c.requests++
	a, err := c.get(ctx, next.url)
	if err != nil || a.status != http.StatusOK || !a.html() || siteOf(a.url) != c.frontier.site {
		return
	}
	if a.url.String() != next.url.String() && c.frontier.mark(a.url) {
		return // a redirect to a page that was read
	}
	if c.keep(a, next.depth) && next.guess {
		c.frontier.found++
	}
}

// keep takes in what a page says and where it leads. It reports whether there was something new.
func (c *crawl) keep(a *answer, depth int) bool {
	r, err := read(a.url, a.contentType, a.body)
	if err != nil {
		return false
	}
	if depth < maxDepth && !r.noFollow {
		for _, l := range r.links {
			c.frontier.add(l.to, depth+1, l.text, false)
		}
	}
	c.site.Facts.fill(r.facts)
	h := fnv.New64a()
	h.Write([]byte(r.page.Markdown))
	if strings.TrimSpace(r.page.Markdown) == "" || c.texts[h.Sum64()] {
		return false
	}
	c.texts[h.Sum64()] = true
	c.site.Pages = append(c.site.Pages, r.page)
	return true
}

// answer is what an address gave.
type answer struct {
	url         *url.URL // behind redirects
	status      int
	contentType string
	kind        string // the media type alone
	body        []byte
}

func (a *answer) html() bool { return a.kind == "text/html" || a.kind == "application/xhtml+xml" }

// get reads an address that robots.txt allows, after the pause that it asks for.
func (c *crawl) get(ctx context.Context, u *url.URL) (*answer, error) {
	if d := c.delay(u); d > 0 {
		c.pause(ctx, d)
	}
	return c.fetch(ctx, c.pages, u, 2<<20)
}

func (c *crawl) fetch(ctx context.Context, by *http.Client, u *url.URL, most int64) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.page)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, &egress.Error{Class: egress.InvalidRequest}
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5")
	resp, err := by.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{url: resp.Request.URL, status: resp.StatusCode, contentType: resp.Header.Get("Content-Type")}
	// A body that breaks off or dribbles beyond its time counts as far as it came.
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil && len(a.body) == 0 {
		return nil, &egress.Error{Class: egress.Timeout, Err: err}
	}
	if a.contentType == "" {
		a.contentType = http.DetectContentType(a.body)
	}
	if a.kind, _, err = mime.ParseMediaType(a.contentType); err != nil {
		a.kind, _, _ = strings.Cut(strings.ToLower(a.contentType), ";")
		a.kind = strings.TrimSpace(a.kind)
	}
	return a, nil
}

func hops(_ *http.Request, via []*http.Request) error {
	if len(via) > maxHops {
		return &egress.Error{Class: egress.TooManyRedirects}
	}
	return nil
}

// follow lets a redirect pass to where robots.txt lets us read.
func (c *crawl) follow(to *http.Request, via []*http.Request) error {
	if err := hops(to, via); err != nil {
		return err
	}
	if c.frontier != nil && siteOf(to.URL) != c.frontier.site {
		return errElsewhere
	}
	to.Header.Del("Referer")
	allowed, err := c.allows(to.Context(), to.URL)
	if err == nil && !allowed {
		err = errRobots
	}
	return err
}

var errElsewhere = errors.New("a redirect to another site")
