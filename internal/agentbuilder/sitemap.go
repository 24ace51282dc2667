package agentbuilder

import (
	"bytes"
	"context"
	"encoding/xml"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"
)

// Bounds of sitemaps; their size is that of any page.
const (
	maxSitemaps = 8
	maxLocs     = 2000 // addresses of one sitemap that are looked at
)

// sitemaps adds what the site's sitemaps name. They stand in robots.txt, else at the usual place; an index names more of
// them, and those may be indexes once more.
func (c *crawl) sitemaps(ctx context.Context, home *url.URL) {
	type file struct {
		at    *url.URL
		level int
	}
	var files []file
	if r := c.robots[home.Scheme+"://"+home.Host]; r != nil {
		for _, s := range r.sitemaps {
			if u, err := home.Parse(strings.TrimSpace(s)); err == nil {
				files = append(files, file{u, 0})
			}
		}
	}
	if len(files) == 0 {
		files = append(files, file{&url.URL{Scheme: home.Scheme, Host: home.Host, Path: "/sitemap.xml"}, 0})
	}
	seen := map[string]bool{}
	for read := 0; len(files) > 0 && read < maxSitemaps && ctx.Err() == nil; files = files[1:] {
		f := files[0]
		if seen[f.at.String()] || siteOf(f.at) != c.frontier.site {
			continue
		}
		seen[f.at.String()] = true
		if allowed, err := c.allows(ctx, f.at); err != nil || !allowed {
			continue
		}
		read++
		a, err := c.get(ctx, f.at)
		if err != nil || a.status != 200 {
			continue
		}
		pages, more := locs(a.body)
		for _, p := range pages {
			if u, err := f.at.Parse(p); err == nil {
				c.frontier.add(u, 1, "", false)
			}
		}
		for _, m := range more {
			if u, err := f.at.Parse(m); err == nil && f.level < 2 && len(files) < 50 {
				files = append(files, file{u, f.level + 1})
			}
		}
	}
}

// locs reads the addresses of a sitemap: XML, or text with one on each line. What is broken ends it; what was read counts.
func locs(body []byte) (pages, sitemaps []string) {
	body = bytes.TrimSpace(body)
	if !bytes.HasPrefix(bytes.TrimPrefix(body, []byte("\ufeff")), []byte("<")) {
		for line := range strings.Lines(string(body)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "http") && len(pages) < maxLocs {
				pages = append(pages, line)
			}
		}
		return pages, nil
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	inIndex := false
	for depth := 0; len(pages)+len(sitemaps) < maxLocs; {
		token, err := d.Token()
		if err != nil {
			return pages, sitemaps
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > 20 {
				return pages, sitemaps
			}
			switch t.Name.Local {
			case "sitemapindex":
				inIndex = true
			case "loc":
				if t.Name.Space != "" && !strings.Contains(t.Name.Space, "sitemaps.org") && !strings.Contains(t.Name.Space, "google.com/schemas/sitemap/0") {
					continue // of an image or a video
				}
				var loc string
				if d.DecodeElement(&loc, &t) != nil {
					return pages, sitemaps
				}
				depth--
				if loc = strings.TrimSpace(loc); inIndex {
					sitemaps = append(sitemaps, loc)
				} else {
					pages = append(pages, loc)
				}
			}
		case xml.EndElement:
			depth--
		}
	}
	return pages, sitemaps
}
