package agentbuilder

import (
	"context"
	"net/url"
	"time"

	"github.com/temoto/robotstxt"
)

// robots are the wishes of one host.
type robots struct {
	status   int
	group    *robotstxt.Group
	sitemaps []string
}

const (
	maxRobots      = 512 << 10 // bytes of a robots.txt that are read (RFC 9309, 2.5)
	maxRobotsHosts = 4         // hosts that one job may come by
	maxDelay       = 5 * time.Second
)

// robotName is what robots.txt calls us.
const robotName = "Callwright"

// allows reports whether an address may be read. A host whose robots.txt can not be had for a fault of its own is not
// read at all, one without a robots.txt is read (RFC 9309, 2.3.1). The error is the host's: it was not reached.
func (c *crawl) allows(ctx context.Context, u *url.URL) (bool, error) {
	r, err := c.robotsOf(ctx, u)
	if err != nil || r == nil {
		return false, err
	}
	return r.group.Test(u.EscapedPath() + query(u)), nil
}

func query(u *url.URL) string {
	if u.RawQuery == "" {
		return ""
	}
	return "?" + u.RawQuery
}

// robotsOf is nil for one host too many.
func (c *crawl) robotsOf(ctx context.Context, u *url.URL) (*robots, error) {
	origin := u.Scheme + "://" + u.Host
	if r, ok := c.robots[origin]; ok {
		return r, nil
	}
	if len(c.robots) >= maxRobotsHosts {
		return nil, nil
	}
	a, err := c.fetch(ctx, c.plainHTTP, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}, maxRobots)
	if err != nil {
		return nil, err
	}
	status := a.status
	if status >= 300 && status < 400 { // redirects without an end: as if there were none
		status = 404
	}
	parsed, err := robotstxt.FromStatusAndBytes(status, a.body)
	if err != nil {
		parsed, _ = robotstxt.FromStatusAndBytes(404, nil)
	}
	r := &robots{status: status, group: parsed.FindGroup(robotName), sitemaps: parsed.Sitemaps}
	c.robots[origin] = r
	return r, nil
}

// delay is the pause that a host asks for, 5 s at most.
func (c *crawl) delay(u *url.URL) time.Duration {
	if r := c.robots[u.Scheme+"://"+u.Host]; r != nil {
		return min(max(r.group.CrawlDelay, 0), maxDelay)
	}
	return 0
}
