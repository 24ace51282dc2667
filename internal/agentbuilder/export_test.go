package agentbuilder

import (
	"context"
	"net/url"
	"time"

	"github.com/callwright/callwright/internal/store"
)

// At tells f what the worker does next.
func (w *Worker) At(f func(point string)) { w.at = f }

// Pause replaces the waiting between requests.
func (w *Worker) Pause(f func(context.Context, time.Duration)) { w.clock.pause = f }

// Hurry shortens the time for a site, and for each of its pages.
func (w *Worker) Hurry(all, page time.Duration) { w.clock.all, w.clock.page = all, page }

// TakeUp looks once for what dead processes left.
func (w *Worker) TakeUp(ctx context.Context) error { return w.takeUp(store.System(ctx)) }

// Read reads one document.
func Read(at, contentType string, body []byte) (Page, Facts, error) {
	u, err := url.Parse(at)
	if err != nil {
		return Page{}, Facts{}, err
	}
	r, err := read(u, contentType, body)
	if err != nil {
		return Page{}, Facts{}, err
	}
	return r.page, r.facts, nil
}

// What the parts decide.
var (
	IsOrder    = isOrder
	DomainName = domainName
	NamedIn    = namedIn
	Locs       = locs
	Clip       = clip
	Company    = company
	AgentName  = agentName
)

// Admitted are the addresses that a frontier takes in, best first.
func Admitted(home string, addresses ...string) []string {
	h, _ := url.Parse(home)
	f := newFrontier(h)
	for _, a := range addresses {
		if u, err := h.Parse(a); err == nil {
			f.add(u, 1, "", false)
		}
	}
	var all []string
	for {
		c, ok := f.next()
		if !ok {
			return all
		}
		all = append(all, c.url.RequestURI())
	}
}
