package portal

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"google.golang.org/grpc/metadata"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/fault"
)

// maxForm bounds what a form may send, in bytes.
const maxForm = 64 << 10

// visit is one request for a page and who makes it.
type visit struct {
	p *portal
	w http.ResponseWriter
	r *http.Request
	// ctx is that of calls to the services: it carries the session and where the visitor comes from.
	ctx context.Context
	// me is nil when nobody has signed in.
	me *callwrightv1.Person
	// wrote is set when the answer has begun.
	wrote bool
}

// serve finds the page, learns who asks, and turns what goes wrong into an error page.
func (p *portal) serve(w http.ResponseWriter, r *http.Request) {
	v := &visit{p: p, w: w, r: r, ctx: outgoing(r, "")}
	defer v.recovers()
	known := v.recognise() // first: an error page is inside of the workspace for who is
	page, ok := p.find(r.URL.Path)
	if !ok {
		v.fail(fault.New(fault.NotFound, "route_not_found", "There is no page at this address."))
		return
	}
	run := page.get
	if r.Method == http.MethodPost {
		run = page.post
	}
	if run == nil || r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		w.Header().Set("Allow", allow(page))
		v.fail(fault.New(fault.MethodNotAllowed, "method_not_allowed", "This page can not do that."))
		return
	}
	if known != nil {
		v.fail(known)
		return
	}
	if v.me == nil && !page.open {
		v.toSignIn()
		return
	}
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			v.fail(fault.New(fault.Invalid, "validation_failed", "The form could not be read."))
			return
		}
	}
	if err := run(v); err != nil {
		v.fail(err)
	}
}

func allow(page route) string {
	switch {
	case page.get == nil:
		return "POST"
	case page.post == nil:
		return "GET, HEAD"
	}
	return "GET, HEAD, POST"
}

// outgoing is the context of calls on behalf of a request.
func outgoing(r *http.Request, session string) context.Context {
	pairs := []string{"client-address", clientAddress(r.RemoteAddr)}
	if session != "" {
		pairs = append(pairs, "authorization", "Bearer "+session)
	}
	return metadata.AppendToOutgoingContext(r.Context(), pairs...)
}

// clientAddress is the host of a peer. Nobody in front of us is trusted to say another one.
func clientAddress(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	return host
}

// isLoopback tells whether a Host names this machine, as far as browsers treat it as secure.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// recognise finds the person of the session cookie. A session that has ended is no failure: its cookie goes.
func (v *visit) recognise() error {
	token := v.cookie(sessionCookie)
	if !strings.HasPrefix(token, "cws_") { // nothing else is a session, least of all an API key
		return nil
	}
	ctx := outgoing(v.r, token)
	who, err := v.p.people.WhoAmI(ctx, &callwrightv1.WhoAmIRequest{})
	if f := fault.FromStatus(err); err != nil && f.Kind == fault.Unauthenticated {
		v.dropCookie(sessionCookie)
		return nil
	}
	if err != nil {
		return err
	}
	v.ctx, v.me = ctx, who.GetPerson()
	return nil
}

// adopt makes the visitor who just signed in the one of this browser.
func (v *visit) adopt(in *callwrightv1.SignedIn) {
	v.setCookie(sessionCookie, in.GetSessionToken(), in.GetExpiresAt().AsTime())
	v.ctx, v.me = outgoing(v.r, in.GetSessionToken()), in.GetPerson()
}

// id is the second part of the path.
func (v *visit) id() string {
	id, _, _ := strings.Cut(strings.TrimPrefix(v.r.URL.Path, "/calls/"), "/")
	return id
}

// form is a field of the form that was sent, without the spaces around it.
func (v *visit) form(name string) string { return strings.TrimSpace(v.r.PostForm.Get(name)) }

// secretForm is a field as it was typed.
func (v *visit) secretForm(name string) string { return v.r.PostForm.Get(name) }

// next is the page of ours to go on to, from the query or the form; "/" when there is none.
func (v *visit) next() string {
	if v.r.Method == http.MethodPost {
		return v.p.local(v.r.PostForm.Get("next"))
	}
	return v.p.local(v.r.URL.Query().Get("next"))
}

// local is an address of one of our pages, or "/": nobody is sent elsewhere by a link to us.
func (p *portal) local(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" {
		return "/"
	}
	if page, ok := p.find(u.Path); !ok || page.get == nil {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

func (v *visit) redirect(to string) error {
	v.wrote = true
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// done goes on to a page, where a message is shown once.
func (v *visit) done(to, message string) error {
	v.flash(message)
	return v.redirect(to)
}

func (v *visit) toSignIn() {
	to := "/sign-in"
	if v.r.Method == http.MethodGet && v.r.URL.Path != "/" {
		to += "?next=" + url.QueryEscape(v.r.URL.RequestURI())
	}
	_ = v.redirect(to)
}

// show answers with a page.
func (v *visit) show(status int, c templ.Component) error {
	var buf bytes.Buffer
	if err := c.Render(v.r.Context(), &buf); err != nil {
		return err
	}
	v.wrote = true
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(buf.Len()))
	v.w.WriteHeader(status)
	_, _ = v.w.Write(buf.Bytes())
	return nil
}

// page is what the layout around a page's content needs.
func (v *visit) page(title string) page {
	return page{Title: title, Path: v.r.URL.Path, Me: v.me, Flash: v.takeFlash()}
}

// refusal is what a form is told when the services refuse what it sent; ok is false for errors that are not the form's.
func refusal(err error) (f *fault.Error, ok bool) {
	f = fault.FromStatus(err)
	switch f.Kind {
	case fault.Invalid, fault.Exists, fault.Conflict, fault.Gone, fault.Unprocessable, fault.TooMany:
		return f, true
	}
	return f, false
}

// fail answers with the page of an error.
func (v *visit) fail(err error) {
	if v.wrote {
		return
	}
	f := fault.FromStatus(err)
	var ours *fault.Error
	if errors.As(err, &ours) {
		f = ours
	}
	if f.Kind == fault.Canceled && v.r.Context().Err() != nil {
		return // nobody is there any more
	}
	if f.Kind == fault.Unauthenticated && v.r.Method != http.MethodPost {
		v.toSignIn()
		return
	}
	if f.Kind == fault.Internal && f.Err != nil { // else the service has logged it
		v.p.log.ErrorContext(v.r.Context(), "a page failed", "path", v.r.URL.Path, "err", f.Err)
	}
	v.retryAfter(f)
	if err := v.show(f.Kind.HTTP(), failurePage(v.page(failureTitle(f)), f)); err != nil {
		v.p.log.ErrorContext(v.r.Context(), "an error page failed", "err", err)
		http.Error(v.w, "something went wrong on our side", http.StatusInternalServerError)
	}
}

func (v *visit) retryAfter(f *fault.Error) {
	if s := f.RetrySeconds(); s > 0 {
		v.w.Header().Set("Retry-After", strconv.Itoa(s))
	}
}

// foreign answers a form of somebody else's page.
func (p *portal) foreign(w http.ResponseWriter, r *http.Request) {
	v := &visit{p: p, w: w, r: r, ctx: r.Context()}
	v.fail(fault.New(fault.Denied, "cross_origin", "This was not sent by one of our own pages, so nothing was done."))
}

// recovers answers a panic of ours; those of services are caught there.
func (v *visit) recovers() {
	r := recover()
	if r == nil {
		return
	}
	if r == http.ErrAbortHandler {
		panic(r)
	}
	v.p.log.ErrorContext(v.r.Context(), "panic", "path", v.r.URL.Path, "panic", r, "stack", string(debug.Stack()))
	v.fail(fault.New(fault.Internal, "internal_error", "Something went wrong on our side."))
}
