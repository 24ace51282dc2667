// Package portal shows the services of callwright.v1 as pages: signing in and up, approving an assistant's code, keys,
// members, settings, calls. It is a client of the services over the connection inside the process and knows gen and fault,
// nothing else of ours; who may do what is decided there, never here.
//
// Every page works without script: portal.js only fills fields from an address's fragment, copies, confirms and moves the
// player. A fragment holds what no server may see on its way (the token of a link, the prefill of a pairing); the script
// puts it into the form and drops it from the address bar.
//
// What protects the pages: changes by POST alone and from pages of ours alone (http.CrossOriginProtection), a policy that
// runs no inline script or style and lets nobody frame us, no referrer, nothing cached, and a session cookie that no
// script reads.
package portal

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// Config says what the portal stands on.
type Config struct {
	// Conn reaches the services.
	Conn grpc.ClientConnInterface
	// PublicURL is the address that people know this service by. Defaults to http:// and the request's Host.
	PublicURL string
	// Next answers what is no page: paths that programs ask for. Defaults to a plain 404.
	Next http.Handler
	// Now is the clock that ages are told by. Defaults to time.Now.
	Now func() time.Time
	// Log gets the failures that no service could log. Defaults to slog.Default().
	Log *slog.Logger
}

type portal struct {
	public  string
	next    http.Handler
	now     func() time.Time
	log     *slog.Logger
	routes  map[string]route
	guarded http.Handler
	// pictures are of recordings.
	pictures pictures

	people     callwrightv1.PeopleServiceClient
	pairings   callwrightv1.PairingServiceClient
	keys       callwrightv1.ApiKeyServiceClient
	workspaces callwrightv1.WorkspaceServiceClient
	calls      callwrightv1.CallServiceClient
	usage      callwrightv1.UsageServiceClient
	agents     callwrightv1.AgentServiceClient
	assistants callwrightv1.AssistantServiceClient
	tags       callwrightv1.CallTagServiceClient
	contacts   callwrightv1.ContactServiceClient
	webhooks   callwrightv1.WebhookServiceClient
}

// route is a page: what shows it and what its forms do.
type route struct {
	get, post func(*visit) error
	// open is for people who are not signed in, too.
	open bool
}

// New builds the handler of all pages.
func New(c Config) http.Handler {
	p := &portal{
		public: strings.TrimRight(c.PublicURL, "/"), next: c.Next, now: c.Now, log: c.Log,
		people:     callwrightv1.NewPeopleServiceClient(c.Conn),
		pairings:   callwrightv1.NewPairingServiceClient(c.Conn),
		keys:       callwrightv1.NewApiKeyServiceClient(c.Conn),
		workspaces: callwrightv1.NewWorkspaceServiceClient(c.Conn),
		calls:      callwrightv1.NewCallServiceClient(c.Conn),
		usage:      callwrightv1.NewUsageServiceClient(c.Conn),
		agents:     callwrightv1.NewAgentServiceClient(c.Conn),
		assistants: callwrightv1.NewAssistantServiceClient(c.Conn),
		tags:       callwrightv1.NewCallTagServiceClient(c.Conn),
		contacts:   callwrightv1.NewContactServiceClient(c.Conn),
		webhooks:   callwrightv1.NewWebhookServiceClient(c.Conn),
	}
	if p.next == nil {
		p.next = http.NotFoundHandler()
	}
	if p.now == nil {
		p.now = time.Now
	}
	if p.log == nil {
		p.log = slog.Default()
	}
	p.routes = p.table()
	cross := http.NewCrossOriginProtection()
	if u, err := url.Parse(p.public); err == nil && u.Host != "" {
		_ = cross.AddTrustedOrigin(u.Scheme + "://" + u.Host) // a proxy may ask us by another Host
	}
	cross.SetDenyHandler(http.HandlerFunc(p.foreign))
	p.guarded = cross.Handler(http.HandlerFunc(p.serve))
	return p
}

// table is all pages. A path that is not here belongs to programs.
func (p *portal) table() map[string]route {
	return map[string]route{
		"/":                     {get: p.home},
		"/sign-in":              {get: p.signInPage, post: p.signIn, open: true},
		"/sign-in/openid":       {get: p.beginOpenID, open: true},
		"/sign-in/openid/done":  {get: p.finishOpenID, post: p.chooseOpenID, open: true},
		"/sign-up":              {get: p.signUpPage, post: p.signUp, open: true},
		"/sign-out":             {post: p.signOut},
		"/set-up":               {get: p.setUpPage, post: p.setUp, open: true},
		"/invite":               {get: p.invitePage, post: p.acceptInvite, open: true},
		"/reset":                {get: p.resetPage, post: p.resetPassword, open: true},
		"/pair":                 {get: p.pairPage, post: p.decide, open: true},
		"/calls":                {get: p.callsPage},
		"/calls/{id}":           {get: p.callPage},
		"/calls/{id}/recording": {get: p.recordingFile},
		"/keys":                 {get: p.keysPage, post: p.createKey},
		"/keys/delete":          {post: p.deleteKey},
		"/members":              {get: p.membersPage, post: p.inviteMember},
		"/members/role":         {post: p.changeRole},
		"/members/remove":       {post: p.removeMember},
		"/members/uninvite":     {post: p.deleteInvite},
		"/settings":             {get: p.settingsPage, post: p.updateSettings},
		"/audit":                {get: p.auditPage},
		"/assistants":           {get: p.assistantsPage},
		"/account":              {get: p.accountPage},
		"/account/password":     {post: p.changePassword},
		"/account/sign-out-all": {post: p.signOutEverywhere},
	}
}

func (p *portal) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, assetPrefix); ok {
		p.asset(w, r, name)
		return
	}
	_, page := p.find(r.URL.Path)
	if r.URL.Path == "/" && !strings.Contains(r.Header.Get("Cookie"), sessionCookie+"=") {
		page = false // a program that looks what is here
	}
	if !page && !acceptsPage(r) {
		p.next.ServeHTTP(w, r)
		return
	}
	p.secure(w.Header(), r)
	p.guarded.ServeHTTP(w, r)
}

// find is the route of a path.
func (p *portal) find(path string) (route, bool) {
	r, ok := p.routes[pattern(path)]
	return r, ok
}

// pattern is a path as the table has it: with {id} in place of what stands second below /calls.
func pattern(path string) string {
	below, ok := strings.CutPrefix(path, "/calls/")
	if !ok {
		return path
	}
	id, rest, more := strings.Cut(below, "/")
	switch {
	case id == "" || strings.ContainsAny(id, "{}"):
		return ""
	case more:
		return "/calls/{id}/" + rest
	}
	return "/calls/{id}"
}

// acceptsPage tells whether a request comes from a browser that wants a page.
func acceptsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// policy allows what the pages bring with them, and nothing from elsewhere.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (p *portal) secure(h http.Header, r *http.Request) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	if !p.https(r) && !isLoopback(r.Host) {
		// With no-referrer browsers send "Origin: null", and where there is no TLS no Sec-Fetch-Site either: forms of ours
		// could not be told from those of others.
		h.Set("Referrer-Policy", "same-origin")
	}
}

// https tells whether people reach us by https: our own TLS, or that of a proxy in front.
func (p *portal) https(r *http.Request) bool {
	if p.public != "" {
		return strings.HasPrefix(p.public, "https://")
	}
	return r.TLS != nil
}

// base is the address of this service, without a slash at its end.
func (p *portal) base(r *http.Request) string {
	if p.public != "" {
		return p.public
	}
	return "http://" + r.Host
}
