package main_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/identity/openidtest"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// visitor is a browser without script: it keeps cookies and does not follow redirects.
type visitor struct {
	t      *testing.T
	h      *house
	client *http.Client
}

func (h *house) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	c := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(c.CloseIdleConnections)
	return &visitor{t, h, c}
}

// page is an answer: its status, headers and text.
type answer struct {
	*http.Response
	text string
}

func (v *visitor) ask(method, path string, form url.Values, header map[string]string) answer {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.h.url+path, strings.NewReader(form.Encode()))
	require.NoError(v.t, err)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := v.client.Do(req)
	require.NoError(v.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(v.t, err)
	return answer{resp, string(text)}
}

// get opens a page, which is as every page has to be.
func (v *visitor) get(path string, status int) answer {
	v.t.Helper()
	a := v.ask("GET", path, nil, nil)
	require.Equal(v.t, status, a.StatusCode, "%s\n%s", path, a.text)
	v.sound(path, a)
	return a
}

// post sends a form.
func (v *visitor) post(path string, status int, fields ...string) answer {
	v.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	a := v.ask("POST", path, form, nil)
	require.Equal(v.t, status, a.StatusCode, "%s\n%s", path, a.text)
	v.sound(path, a)
	return a
}

var inline = regexp.MustCompile(`(?i)<script>|<script [^>]*>[^<]|<style| style=| on[a-z]+=|javascript:`)

// sound holds what is true of every page.
func (v *visitor) sound(path string, a answer) {
	v.t.Helper()
	h := a.Header
	require.Equal(v.t, "no-store", h.Get("Cache-Control"), path)
	require.Equal(v.t, "no-referrer", h.Get("Referrer-Policy"), path)
	require.Equal(v.t, "DENY", h.Get("X-Frame-Options"), path)
	require.Equal(v.t, "nosniff", h.Get("X-Content-Type-Options"), path)
	policy := h.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"} {
		require.Contains(v.t, policy, part, path)
	}
	require.NotContains(v.t, policy, "unsafe", path)
	if a.StatusCode/100 != 3 {
		require.Equal(v.t, "text/html; charset=utf-8", h.Get("Content-Type"), path)
		require.Empty(v.t, inline.FindString(a.text), path)
		require.NotContains(v.t, a.text, "http://fonts", path)
	}
}

// follow opens the page that an answer sends to.
func (v *visitor) follow(a answer) answer {
	v.t.Helper()
	return v.get(a.Header.Get("Location"), 200)
}

// inside is a visitor who has signed in as a new member with the role.
func (h *house) inside(t *testing.T, w *tenant, role string) *visitor {
	t.Helper()
	owner := identity.Principal{WorkspaceID: w.id, UserID: &w.founded.Owner.ID, Role: identity.RoleOwner}
	email := role + "-" + uuid.NewString()[:8] + "@example.com"
	_, token, err := h.identity.Invite(identity.WithPrincipal(w.ctx(t), owner), email, role)
	require.NoError(t, err)
	v := h.visitor(t)
	v.post("/invite", 200, "token", token)
	a := v.post("/invite", 303, "token", token, "password", horse, "first_name", "Some", "last_name", "Body")
	require.Equal(t, "/", a.Header.Get("Location"))
	return v
}

// Everything can be done by forms alone.
func TestThePagesWorkWithoutAScript(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := openWith(t, db, nil, openToAll)
		v := h.visitor(t)

		// Nobody is there: the set-up.
		require.Equal(t, "/sign-in", v.ask("GET", "/", nil, nil).Header.Get("Location"))
		require.Contains(t, v.get("/sign-in", 200).text, "Nobody has an account here yet")
		token, err := h.identity.SetUpLink(t.Context(), nil)
		require.NoError(t, err)
		v.get("/set-up", 200)
		require.Contains(t, v.post("/set-up", 404, "token", "cwl_wrong").text, "This link does not work any more")
		require.Contains(t, v.post("/set-up", 200, "token", " "+token+" ").text, "a new workspace")
		a := v.post("/set-up", 400, "token", token, "email", "maria@harbor.example", "password", "short", "workspace_name", "Harbor Dental")
		require.Contains(t, a.text, "Password must have 10 to 128 characters.")
		require.Contains(t, a.text, `value="maria@harbor.example"`, "what was typed is there")
		a = v.post("/set-up", 303, "token", token, "email", "maria@harbor.example", "password", horse, "workspace_name", "Harbor Dental",
			"first_name", "Maria", "last_name", "Alvarez")
		a = v.follow(a)
		require.Contains(t, a.text, "Welcome. Your account is ready.")
		require.Contains(t, a.text, "maria@harbor.example")
		require.NotContains(t, v.get("/", 200).text, "Welcome.", "a message is shown once")

		// Keys.
		a = v.post("/keys", 201, "name", "Booking <site>", "scope", "read", "scope", "mcp")
		secret := regexp.MustCompile(`cw_live_\w+`).FindString(a.text)
		require.NotEmpty(t, secret)
		require.Contains(t, a.text, "Booking &lt;site&gt;")
		_, err = h.identity.Authenticate(t.Context(), secret)
		require.NoError(t, err)
		a = v.get("/keys", 200)
		require.NotContains(t, a.text, secret, "shown once")
		require.Contains(t, a.text, "read, mcp")
		id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(a.text)[1]
		require.Contains(t, v.follow(v.post("/keys/delete", 303, "id", id)).text, "The key is deleted.")
		_, err = h.identity.Authenticate(t.Context(), secret)
		require.Error(t, err)
		v.post("/keys/delete", 404, "id", id)
		v.post("/keys/delete", 400, "id", "nonsense")
		require.Contains(t, v.post("/keys", 400, "scope", "everything").text, "unknown scope")
		require.Contains(t, v.post("/keys", 400, "name", "Nothing ticked").text, "Tick at least one thing")
		v.get("/pair?code="+strings.Repeat("A", 65), 404)
		require.Contains(t, v.get("/pair?code=%00", 404).text, "No assistant is waiting with this code.")

		// Members.
		require.Contains(t, v.post("/members", 400, "email", "nobody", "role", "member").text, "Email must be an address such as ana@example.com.")
		a = v.post("/members", 201, "email", "li@harbor.example", "role", "member")
		invite := regexp.MustCompile(`/invite#(cwl_\w+)`).FindStringSubmatch(a.text)[1]
		a = v.post("/members", 201, "email", "jo@harbor.example", "role", "viewer")
		id = regexp.MustCompile(`(?s)jo@harbor.example.*?name="id" value="([^"]+)"`).FindStringSubmatch(a.text)[1]
		require.Contains(t, v.follow(v.post("/members/uninvite", 303, "id", id)).text, "The invite is taken back.")
		li := h.visitor(t)
		require.Contains(t, li.post("/invite", 200, "token", invite).text, "Join Harbor Dental")
		require.Contains(t, li.post("/reset", 404, "token", invite).text, "This link is for something else.")
		li.post("/invite", 303, "token", invite, "password", horse, "first_name", "Li")
		require.NotContains(t, li.get("/members", 200).text, "Invite somebody", "members invite nobody")
		a = v.get("/members", 200)
		require.Contains(t, a.text, "li@harbor.example")
		id = regexp.MustCompile(`name="user_id" value="([^"]+)"><select`).FindStringSubmatch(a.text)[1]
		require.Contains(t, v.follow(v.post("/members/role", 303, "user_id", id, "role", "viewer")).text, "The role is changed.")
		li.post("/keys", 403, "name", "x")
		require.Contains(t, v.follow(v.post("/members/remove", 303, "user_id", id)).text, "The member is removed")
		require.Equal(t, "/sign-in?next=%2Fkeys", li.ask("GET", "/keys", nil, nil).Header.Get("Location"), "out at once")
		me := regexp.MustCompile(`(?s)Leave.*?name="user_id" value="([^"]+)"`).FindStringSubmatch(v.get("/members", 200).text)[1]
		require.Contains(t, v.post("/members/remove", 409, "user_id", me).text, "no owner who can sign in")

		// Settings.
		settings := []string{"name", "Harbor", "timezone", "America/Chicago", "from", "09:00", "to", "20:00", "single_calls", "1", "countries", "us, ca",
			"calls_per_second", "3", "hipaa_shown", "1", "hipaa", "1"}
		a = v.follow(v.post("/settings", 303, settings...))
		for _, want := range []string{"The settings are saved.", `value="Harbor"`, `value="America/Chicago"`, `value="09:00"`, `value="US, CA"`, `value="3"`} {
			require.Contains(t, a.text, want)
		}
		require.Regexp(t, `name="hipaa" value="1" checked`, a.text)
		a = v.post("/settings", 400, "name", "Harbor", "timezone", "Nowhere", "from", "07:00")
		require.Contains(t, a.text, "Timezone must be an IANA time zone")
		require.Contains(t, a.text, `value="07:00"`)
		require.Contains(t, v.post("/settings", 400, "name", "Harbor", "timezone", "UTC", "calls_per_second", "many").text, "must be a whole number")

		// The rest.
		for _, path := range []string{"/assistants", "/audit", "/account", "/audit?offset=1", "/keys?offset=99999", "/keys?offset=x"} {
			v.get(path, 200)
		}
		require.Contains(t, v.get("/audit", 200).text, "changed the workspace")
		require.Contains(t, v.post("/account/password", 403, "current_password", "wrong horse battery", "password", "another long one").text, "The current password is wrong.")
		require.Contains(t, v.follow(v.post("/account/password", 303, "current_password", horse, "password", "another long one")).text, "Your password is changed.")
		require.Contains(t, v.follow(v.post("/account/sign-out-all", 303)).text, "You are signed out everywhere.")
		require.Equal(t, 303, v.ask("GET", "/account", nil, nil).StatusCode)
		a = v.post("/sign-in", 401, "email", "maria@harbor.example", "password", horse)
		require.Contains(t, a.text, "The email address or the password is wrong.")
		require.NotContains(t, a.text, horse)
		require.Equal(t, "/keys", v.post("/sign-in", 303, "email", "maria@harbor.example", "password", "another long one", "next", "/keys").Header.Get("Location"))
		require.Contains(t, v.follow(v.post("/sign-out", 303)).text, "You are signed out.")

		// A link of whoever runs the installation.
		users, err := h.identity.UserByEmail(t.Context(), "maria@harbor.example")
		require.NoError(t, err)
		token, err = h.identity.ResetLink(t.Context(), users[0].ID)
		require.NoError(t, err)
		v.get("/reset", 200)
		require.Contains(t, v.post("/reset", 200, "token", token).text, "maria@harbor.example")
		require.Contains(t, v.post("/reset", 400, "token", token, "password", "short").text, "Password must have 10 to 128 characters.")
		require.Contains(t, v.follow(v.post("/reset", 303, "token", token, "password", horse)).text, "Your password is set.")
		require.Contains(t, v.post("/reset", 404, "token", token, "password", horse).text, "does not work any more")
		v.post("/sign-out", 303)

		// A workspace of one's own.
		require.Contains(t, v.post("/sign-up", 400, "email", "x@example.com", "password", horse).text, "Workspace name must not be empty.")
		require.Contains(t, v.follow(v.post("/sign-up", 303, "email", "x@example.com", "password", horse, "workspace_name", "Own")).text, "Own")
	})
}

func TestAPairingIsDecidedByForms(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		w := h.found(t, "Harbor Dental")
		v := h.inside(t, w, "member")
		code := h.pairing(t, "<b>Claude</b>")
		sloppy := " " + strings.ToLower(strings.ReplaceAll(code, "-", " ")) + " "
		a := v.get("/pair?code="+url.QueryEscape(sloppy), 200)
		require.Contains(t, a.text, "&lt;b&gt;Claude&lt;/b&gt;")
		require.Contains(t, a.text, "is not verified. It asked just now")
		require.Contains(t, a.text, "Harbor Dental")
		require.Contains(t, a.text, code)
		require.NotEqual(t, 200, v.post("/pair", 400, "code", code).StatusCode, "neither approve nor deny")
		require.Contains(t, v.follow(v.post("/pair", 303, "code", code, "decision", "approve")).text, "is connected")
		require.Contains(t, v.post("/pair", 409, "code", code, "decision", "deny").text, "approved or denied already")

		code = h.pairing(t, "Cursor")
		require.Contains(t, v.follow(v.post("/pair", 303, "code", code, "decision", "deny")).text, "gets nothing")

		// On the way in, and back.
		code = h.pairing(t, "Cursor")
		stranger := h.visitor(t)
		a = stranger.get("/pair?code="+code, 200)
		require.NotContains(t, a.text, "Cursor", "who asks is told to people who have signed in")
		require.Contains(t, a.text, `name="next" value="/pair?code=`+code+`"`)
		require.Contains(t, stranger.post("/sign-in", 401, "email", "a@example.com", "password", "x", "next", "/pair?code="+code).text, code, "the code stays")
		require.Equal(t, "/pair?code="+code, stranger.post("/pair", 303, "code", code, "decision", "approve").Header.Get("Location"))

		viewer := h.inside(t, w, "viewer")
		require.NotContains(t, viewer.get("/pair?code="+code, 200).text, `name="decision"`)
		viewer.post("/pair", 403, "code", code, "decision", "approve")

		// Guessing.
		for range 5 {
			require.Contains(t, v.get("/pair?code=2222-2222", 404).text, "No assistant is waiting with this code.")
		}
		a = v.get("/pair?code=2222-2222", 429)
		require.NotEmpty(t, a.Header.Get("Retry-After"))
		require.Contains(t, a.text, "try again in 15 minutes")
		require.Contains(t, v.get("/pair", 200).text, "Code")
	})
}

// The first owner may come by an assistant that waits.
func TestThePairingWaitsForTheSetUp(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	v := h.visitor(t)
	code := h.pairing(t, "Claude Desktop")
	require.Contains(t, v.get("/pair?code="+code, 200).text, "Code of the set-up link")
	token, err := h.identity.SetUpLink(t.Context(), nil)
	require.NoError(t, err)
	fields := []string{"token", token, "email", "maria@harbor.example", "workspace_name", "Harbor Dental", "next", "/pair?code=" + code}
	require.Contains(t, v.post("/set-up", 400, append(fields, "password", "short")...).text, `value="/pair?code=`+code)
	a := v.post("/set-up", 303, append(fields, "password", horse)...)
	require.Equal(t, "/pair?code="+code, a.Header.Get("Location"))
	require.Contains(t, v.follow(a).text, "Connect “Claude Desktop”")
}

// posts are the forms that change something, with fields that are as good as any.
func posts(id string) map[string][]string {
	return map[string][]string{
		"/keys": {"name", "forged"}, "/keys/delete": {"id", id}, "/members": {"email", "forged@example.com", "role", "member"},
		"/members/role": {"user_id", id, "role", "owner"}, "/members/remove": {"user_id", id}, "/members/uninvite": {"id", id},
		"/settings": {"name", "forged", "timezone", "UTC"},
	}
}

func TestViewersSeeNoFormsAndForgedOnesAreRefused(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := open(t, db)
		w := h.found(t, "Harbor Dental")
		v := h.inside(t, w, "viewer")
		for _, path := range []string{"/keys", "/settings", "/assistants"} {
			require.NotContains(t, v.get(path, 200).text, "<form", path)
		}
		require.NotContains(t, v.get("/members", 200).text, "/members/role")
		require.Contains(t, v.get("/audit", 403).text, "Not allowed")
		for path, fields := range posts(w.founded.Owner.ID.String()) {
			v.post(path, 403, fields...)
		}
		member := h.inside(t, w, "member")
		for _, path := range []string{"/members", "/members/role", "/members/uninvite", "/members/remove"} {
			member.post(path, 403, posts(w.founded.Owner.ID.String())[path]...)
		}
		member.post("/settings", 403, "name", "Harbor", "timezone", "UTC")
		member.post("/settings", 403, "name", "Harbor", "timezone", "UTC", "hipaa_shown", "1", "hipaa", "1")
		require.NotContains(t, member.get("/settings", 200).text, `action="/settings"`)
		member.get("/audit", 403)
		got, err := identity.GetWorkspace(w.ctx(t), db.Ent())
		require.NoError(t, err)
		require.Equal(t, "Harbor Dental", got.Name)
		require.False(t, got.Hipaa)
	})
}

func TestFormsOfOtherPagesChangeNothing(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	w := h.found(t, "Harbor Dental")
	v := h.inside(t, w, "admin")
	token, err := h.identity.SetUpLink(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, token)
	all := posts(w.founded.Key.Row.ID.String())
	for _, path := range []string{"/sign-in", "/sign-up", "/sign-out", "/set-up", "/invite", "/reset", "/pair", "/account/password",
		"/account/sign-out-all", "/sign-in/openid/done"} {
		all[path] = []string{"code", h.pairing(t, ""), "decision", "approve"}
	}
	before := dump(t, h.db)
	for path, fields := range all {
		form := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			form.Add(fields[i], fields[i+1])
		}
		for name, header := range map[string]map[string]string{
			"cross-site":     {"Sec-Fetch-Site": "cross-site"},
			"same-site":      {"Sec-Fetch-Site": "same-site"},
			"another origin": {"Sec-Fetch-Site": "", "Origin": "https://evil.example.com"},
			"no origin":      {"Sec-Fetch-Site": "", "Origin": "null"},
		} {
			a := v.ask("POST", path, form, header)
			require.Equal(t, 403, a.StatusCode, "%s %s", path, name)
			v.sound(path, a)
			require.Contains(t, a.text, "not sent by one of our own pages", path)
		}
	}
	require.Equal(t, before, dump(t, h.db), "nothing has changed")
	v.get("/account", 200)
}

// What arrives is a page for browsers, and for programs what it always was.
func TestWhatIsNoPage(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	v := h.visitor(t)
	require.Contains(t, v.get("/no/such/page", 404).text, "There is no page at this address.")
	for _, path := range []string{"/v1/no/such", "/v1", "/call/x/y/z", "/contactx", "/docs/nothing"} {
		a := v.ask("GET", path, nil, nil)
		require.Equal(t, 404, a.StatusCode, path)
		if path != "/contactx" {
			require.Contains(t, a.text, `"error_code":"route_not_found"`, path)
		}
	}
	for _, path := range []string{"/", "/no/such", "/contactx", "/assets/x/portal.css", "/assets/"} {
		for _, accept := range []string{"", "*/*", "application/json"} {
			a := v.ask("GET", path, nil, map[string]string{"Accept": accept})
			require.Equal(t, 404, a.StatusCode, path)
			require.Contains(t, a.text, `"error_code":"route_not_found"`, path)
		}
	}
	for method, path := range map[string]string{"DELETE": "/keys", "POST": "/audit", "PUT": "/sign-in"} {
		a := v.ask(method, path, nil, nil)
		require.Equal(t, 405, a.StatusCode, path)
		require.Contains(t, a.Header.Get("Allow"), "GET", path)
	}
	require.Equal(t, "POST", v.ask("GET", "/sign-out", nil, nil).Header.Get("Allow"))
	a := v.ask("HEAD", "/sign-in", nil, nil)
	require.Equal(t, 200, a.StatusCode)
	require.Empty(t, a.text)

	css := regexp.MustCompile(`/assets/[0-9a-f]+/portal.css`).FindString(v.get("/sign-in", 200).text)
	a = v.ask("GET", css, nil, nil)
	require.Equal(t, 200, a.StatusCode)
	require.Equal(t, "public, max-age=31536000, immutable", a.Header.Get("Cache-Control"))
	require.Equal(t, "text/css; charset=utf-8", a.Header.Get("Content-Type"))
	for _, asset := range []string{"portal.js", "mark.svg", "instrument-sans.woff2", "geist-mono.woff2"} {
		require.Equal(t, 200, v.ask("GET", strings.Replace(css, "portal.css", asset, 1), nil, nil).StatusCode, asset)
	}
	for _, elsewhere := range []string{"https://evil.example.com/", "//evil.example.com", `/\evil.example.com`, "javascript:alert(1)", "/v1/agents",
		"/sign-out", "keys", "/keys/../../x", "/%2f%2fevil.example.com"} {
		a := v.get("/sign-in?next="+url.QueryEscape(elsewhere), 200)
		require.Contains(t, a.text, `name="next" value="/"`, elsewhere)
	}
	a = v.post("/sign-in", 400, "email", strings.Repeat("x", 70_000))
	require.Contains(t, a.text, "The form could not be read.")
	a = v.post("/sign-in", 400, "email", "a\x00b@example.com", "password", "x")
	require.NotContains(t, a.text, "Something went wrong")
}

func TestTheSessionIsACookieThatNobodyReads(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	w := h.found(t, "Harbor Dental")
	h.inside(t, w, "member") // makes sure that signing in works
	owner := identity.Principal{WorkspaceID: w.id, UserID: &w.founded.Owner.ID, Role: identity.RoleOwner}
	_, token, err := h.identity.Invite(identity.WithPrincipal(w.ctx(t), owner), "bo@example.com", "member")
	require.NoError(t, err)
	v := h.visitor(t)
	a := v.post("/invite", 303, "token", token, "password", horse)
	var session *http.Cookie
	for _, c := range a.Cookies() {
		require.True(t, c.HttpOnly, c.Name)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite, c.Name)
		require.Equal(t, "/", c.Path, c.Name)
		require.Empty(t, c.Domain, c.Name)
		require.False(t, c.Secure, "plain on loopback")
		if c.Name == "callwright" {
			session = c
		}
	}
	require.NotNil(t, session)
	require.Regexp(t, `^cws_`, session.Value)
	p, err := h.identity.Authenticate(t.Context(), session.Value)
	require.NoError(t, err)
	require.NotNil(t, p.SessionID)
	v.post("/sign-out", 303)
	_, err = h.identity.Authenticate(t.Context(), session.Value)
	require.Error(t, err, "the session is gone, not only its cookie")

	// Other credentials are no session.
	for _, other := range []string{w.founded.Key.Secret, w.founded.Token, "cws_nonsense", session.Value} {
		a := h.visitor(t).ask("GET", "/keys", nil, map[string]string{"Cookie": "callwright=" + other})
		require.Equal(t, 303, a.StatusCode, other)
	}

	// Behind a proxy that speaks TLS.
	https := openAt(t, storetest.SQLite(t), "https://calls.example.com")
	w = https.found(t, "Harbor Dental")
	owner = identity.Principal{WorkspaceID: w.id, UserID: &w.founded.Owner.ID, Role: identity.RoleOwner}
	_, token, err = https.identity.Invite(identity.WithPrincipal(w.ctx(t), owner), "bo@example.com", "member")
	require.NoError(t, err)
	a = https.visitor(t).post("/invite", 303, "token", token, "password", horse)
	for _, c := range a.Cookies() {
		require.True(t, c.Secure, c.Name)
		require.True(t, strings.HasPrefix(c.Name, "__Host-"), c.Name)
	}
	a = https.visitor(t).ask("POST", "/sign-in", url.Values{"email": {"x@example.com"}}, map[string]string{"Sec-Fetch-Site": "", "Origin": "https://calls.example.com"})
	require.Equal(t, 401, a.StatusCode, "our own address, whatever the proxy makes of Host")
}

// A canary in every field that holds a secret or a prefill is in no log line and in no row.
func TestWhatIsTypedIsKeptNowhere(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := openWith(t, db, nil, openToAll)
		v := h.visitor(t)
		const bird = "CANARYCANARY"
		v.post("/sign-in", 401, "email", bird+"@example.com", "password", bird)
		v.post("/sign-up", 400, "email", bird, "first_name", bird, "password", bird, "workspace_name", bird)
		v.post("/set-up", 404, "token", bird, "email", bird, "password", bird)
		v.post("/invite", 404, "token", "cwl_"+bird, "password", bird)
		v.post("/reset", 404, "token", bird, "password", bird)
		v.get("/pair?code="+bird+"#email="+bird, 200)
		v.get("/sign-in?next=/pair%3Fcode="+bird, 200)
		v.ask("GET", "/no/"+bird, nil, nil)
		v.post("/sign-up", 303, "email", "maria@example.com", "password", bird+" good", "workspace_name", "Harbor")
		v.get("/pair?code="+bird, 404)
		v.post("/account/password", 403, "current_password", bird+" wrong", "password", bird+" other")
		v.post("/account/password", 303, "current_password", bird+" good", "password", bird+" other")
		a := v.post("/keys", 201, "name", "a key", "scope", "read")
		key := regexp.MustCompile(`cw_live_\w+`).FindString(a.text)
		var session string
		u, err := url.Parse(h.url)
		require.NoError(t, err)
		for _, c := range v.client.Jar.Cookies(u) {
			if c.Name == "callwright" {
				session = c.Value
			}
		}
		require.NotEmpty(t, session)
		require.Contains(t, h.log.String(), "SignUp", "the log is looked at")
		rows := dump(t, db)
		require.Contains(t, rows, "maria@example.com", "the rows are looked at")
		for _, secret := range []string{bird, key, session} {
			require.NotContains(t, h.log.String(), secret)
			require.NotContains(t, rows, secret)
		}
	})
}

func TestAPersonOfSeveralWorkspacesChoosesOnThePage(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	for _, name := range []string{"One", "Two"} {
		w := h.found(t, name)
		owner := identity.Principal{WorkspaceID: w.id, UserID: &w.founded.Owner.ID, Role: identity.RoleOwner}
		_, token, err := h.identity.Invite(identity.WithPrincipal(w.ctx(t), owner), "bo@example.com", "member")
		require.NoError(t, err)
		_, err = h.identity.AcceptInvite(t.Context(), token, identity.Newcomer{Password: horse})
		require.NoError(t, err)
	}
	v := h.visitor(t)
	a := v.post("/sign-in", 200, "email", "bo@example.com", "password", horse, "next", "/keys")
	require.NotContains(t, a.text, horse)
	id := regexp.MustCompile(`name="workspace_id" value="([^"]+)"[^>]*> <span>Two`).FindStringSubmatch(a.text)
	require.NotNil(t, id, a.text)
	a = v.post("/sign-in", 303, "email", "bo@example.com", "password", horse, "next", "/keys", "workspace_id", id[1])
	require.Contains(t, v.follow(a).text, "Two")
}

func TestThePagesSignInWithAProvider(t *testing.T) {
	var p *openidtest.Provider
	h := openWith(t, storetest.SQLite(t), nil, func(c *identity.Config) {
		p = openidtest.New(t, store.Now)
		c.OpenID = identity.OpenID{Issuer: p.URL, ClientID: "callwright", ClientSecret: "hush", Name: "Example",
			RedirectURL: "https://calls.example.com/sign-in/openid/done"}
	})
	w := h.found(t, "Harbor Dental")
	h.inside(t, w, "member")
	owner := identity.Principal{WorkspaceID: w.id, UserID: &w.founded.Owner.ID, Role: identity.RoleOwner}
	v := h.visitor(t)
	require.Contains(t, v.get("/sign-in?next=/keys", 200).text, `href="/sign-in/openid?next=%2Fkeys"`)
	come := func(v *visitor) string {
		a := v.get("/sign-in/openid?next=/keys", 303)
		code, state := p.Visit(a.Header.Get("Location"))
		return "/sign-in/openid/done?code=" + code + "&state=" + url.QueryEscape(state)
	}
	require.Contains(t, v.get(come(v), 403).text, "Nobody has the address bo@example.com here")
	_, _, err := h.identity.Invite(identity.WithPrincipal(w.ctx(t), owner), "bo@example.com", "member")
	require.NoError(t, err)
	back := come(v)
	a := h.visitor(t).get(back, 400)
	require.Contains(t, a.text, "could not be completed", "in another browser")
	a = v.get(back, 303)
	require.Equal(t, "/keys", a.Header.Get("Location"))
	require.Contains(t, v.follow(a).text, "bo@example.com")
	require.Contains(t, v.get("/account", 200).text, "You sign in without a password.")
	require.Contains(t, h.visitor(t).get("/sign-in/openid/done?error=access_denied&state=x", 403).text, "not completed at the provider")

	other := h.found(t, "Elsewhere")
	_, err = h.identity.CreateUser(t.Context(), identity.NewUser{WorkspaceID: other.id, Email: "bo@example.com"})
	require.NoError(t, err)
	v = h.visitor(t)
	a = v.get(come(v), 200)
	ticket := regexp.MustCompile(`name="ticket" value="([^"]+)"`).FindStringSubmatch(a.text)[1]
	a = v.post("/sign-in/openid/done", 303, "ticket", ticket, "workspace_id", other.id.String(), "next", "/keys")
	require.Contains(t, v.follow(a).text, "Elsewhere")
	v.post("/sign-in/openid/done", 400, "ticket", "broken", "workspace_id", other.id.String())
}

// Pages of a workspace with records show them and no others.
func TestPagesShowTheirOwnWorkspace(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	w, other := h.found(t, "Harbor Dental"), h.found(t, "Elsewhere")
	for _, x := range []*tenant{w, other} {
		a, err := agent.Create(x.ctx(t), h.db, agent.Settings{Name: ptr("Agent of " + x.founded.Workspace.Name)})
		require.NoError(t, err)
		x.talked(t, a.ID, "Hello from "+x.founded.Workspace.Name, "look_up()", "Yes.")
	}
	v := h.inside(t, w, "admin")
	for _, path := range []string{"/", "/calls", "/keys", "/members", "/settings", "/audit", "/assistants"} {
		require.NotContains(t, v.get(path, 200).text, "Elsewhere", path)
	}
	require.Contains(t, v.get("/", 200).text, "Agent of Harbor Dental called")
	a := v.get("/calls", 200)
	link := regexp.MustCompile(`/calls/[0-9a-f-]{36}`).FindString(a.text)
	a = v.get(link, 200)
	require.Contains(t, a.text, "Hello from Harbor Dental")
	require.Contains(t, a.text, "The agent ended the call.")
	a = v.ask("GET", link+"/recording", nil, map[string]string{"Range": "bytes=0-3"})
	require.Equal(t, 206, a.StatusCode)
	require.Equal(t, "RIFF", a.text)
	require.Equal(t, "audio/wav", a.Header.Get("Content-Type"))
	require.Equal(t, "private, no-cache", a.Header.Get("Cache-Control"))
	stranger := h.inside(t, other, "owner")
	for _, path := range []string{link, link + "/recording", "/calls/nonsense", "/calls/" + uuid.NewString(), link + "/x", "/calls/{id}"} {
		require.NotContains(t, stranger.get(path, 404).text, "Harbor Dental", path)
	}
	require.Equal(t, 303, h.visitor(t).ask("GET", link+"/recording", nil, nil).StatusCode)
	v.post("/keys/delete", 404, "id", other.founded.Key.Row.ID.String())
	v.post("/members/remove", 404, "user_id", other.founded.Owner.ID.String())
	v.post("/members/role", 404, "user_id", other.founded.Owner.ID.String(), "role", "viewer")
}

// A call of somebody who is a contact tells their name; one whose content is withheld nothing that was said.
func TestTheCallPageTellsWhatItMay(t *testing.T) {
	const canary = "CANARY-17 diagnosis"
	h := open(t, storetest.SQLite(t))
	w := h.found(t, "Clinic")
	a, err := agent.Create(w.ctx(t), h.db, agent.Settings{Name: ptr("Juniper")})
	require.NoError(t, err)
	v := h.inside(t, w, "owner")
	id := w.talked(t, a.ID, canary, canary, canary)
	require.Contains(t, v.get("/calls/"+id.String(), 200).text, canary, "as long as nothing is withheld")
	require.NoError(t, w.do(t, "hipaa"))
	id = w.talked(t, a.ID, canary, canary, canary)
	for _, path := range []string{"/", "/calls", "/calls/" + id.String(), "/audit", "/assistants"} {
		require.NotContains(t, v.get(path, 200).text, "CANARY", path)
	}
	require.Contains(t, v.get("/calls/"+id.String(), 200).text, "is withheld (hipaa)")
	require.Equal(t, 404, v.ask("GET", "/calls/"+id.String()+"/recording", nil, nil).StatusCode)
	require.NotContains(t, h.log.String(), "CANARY")
}
