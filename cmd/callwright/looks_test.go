package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// axeCore is the checker of accessibility, as text to run in a page. Without Node its test is skipped and says so, or fails
// where CI_REQUIRE_NODE is set; without a registry to install from it is skipped.
func axeCore(t *testing.T) string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI_REQUIRE_NODE") != "" {
		missing = t.Fatalf
	}
	if _, err := exec.LookPath("npm"); err != nil {
		missing("NOT TESTED: checking the pages for accessibility needs npm")
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/pages")))
	npm := exec.CommandContext(t.Context(), "npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund",
		"--prefer-offline")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: npm could not install axe-core: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	require.NoError(t, err)
	return string(text)
}

// violations are what keeps people out of the page as it is now.
func (b *browser) violations(axe string) []string {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("if (!window.axe) {"+axe+"}; true"))
	require.NoError(b.t, err)
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run(document, {
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"],
	}).then(r => JSON.stringify(r.violations.map(v => v.id + ": " + v.help + " " + v.nodes.map(n => n.html + " " + n.failureSummary).join("; "))))`,
		chromedp.EvalAwaitPromise))
	require.NoError(b.t, err)
	var all []string
	require.NoError(b.t, json.Unmarshal([]byte(found), &all))
	return all
}

// wide tells whether the page is wider than its window.
func (b *browser) wide() bool {
	b.t.Helper()
	wide, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > window.innerWidth + 1"))
	require.NoError(b.t, err)
	return wide
}

// gallery looks at pages one after the other: in both themes and two widths nothing keeps people out, and nothing is
// wider than the window.
type gallery struct {
	*browser
	axe string
}

func (g gallery) look(name string) {
	g.t.Helper()
	g.views(name, func(view string) {
		g.t.Helper()
		for _, v := range g.violations(g.axe) {
			g.t.Errorf("%s: %s", view, v)
		}
		if g.wide() {
			g.t.Errorf("%s: wider than its window", view)
		}
	})
	g.browser.look(1280, "light")
}

func (g gallery) visit(name, path string) {
	g.t.Helper()
	g.open(path)
	g.look(name)
}

// pairing starts one and returns its user code.
func (h *house) pairing(t *testing.T, client string) string {
	t.Helper()
	p, err := h.identity.StartPairing(t.Context(), client, nil)
	require.NoError(t, err)
	return p.UserCode
}

func TestEveryPageIsForEverybody(t *testing.T) {
	axe := axeCore(t)
	db := storetest.SQLite(t)
	var later atomic.Int64 // seconds
	now := func() time.Time { return store.Now().Add(time.Duration(later.Load()) * time.Second) }
	h := openWith(t, db, nil, openToAll, func(c *identity.Config) { c.Now = now })
	w := h.found(t, "Harbor Dental")
	b := newBrowser(t, h.url)
	g := gallery{b, axe}

	// Before anybody can sign in.
	setUp, err := h.identity.SetUpLink(t.Context(), &w.id)
	require.NoError(t, err)
	b.open("/sign-in")
	_, err = chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.querySelector('main').insertAdjacentHTML('beforeend', '<input><p>x</p>'), ''"))
	require.NoError(t, err)
	require.NotEmpty(t, b.violations(axe), "the checker notices a field without a label")
	g.visit("sign-in-first", "/sign-in")
	g.visit("pair-first", "/pair?code="+h.pairing(t, "Claude Desktop"))
	g.visit("set-up-code", "/set-up")
	b.open("/set-up#" + setUp)
	b.see("#set-up-email")
	require.NotContains(t, b.where(), "#")
	g.look("set-up")
	b.fill("#set-up-first_name", "Maria")
	b.fill("#set-up-last_name", "Alvarez")
	b.fill("#set-up-email", "maria@harbor.example")
	b.fill("#set-up-password", horse)
	b.press("form[action='/set-up'] button")
	b.says("Welcome. Your account is ready.", "Harbor Dental")
	g.look("home-empty")

	// The workspace, empty first.
	g.visit("keys", "/keys")
	g.visit("members", "/members")
	g.visit("settings", "/settings")
	g.visit("assistants-empty", "/assistants")
	g.visit("account", "/account")
	g.visit("not-found", "/no/such/page")

	a, err := agent.Create(w.ctx(t), db, agent.Settings{Name: ptr("Juniper")})
	require.NoError(t, err)
	for range 3 {
		w.talked(t, a.ID, "Hi Maria, this is Juniper from Harbor Dental. Is now a good time?", "look_up()", "Yes, go ahead.")
	}
	_, err = call.Place(w.ctx(t), db, call.Request{To: "+14155552671", AgentID: a.ID, Test: true})
	require.NoError(t, err)
	_, _ = w.tool(t, "key", "list_calls", "{}")
	_, _ = w.tool(t, "key", "get_agent", `{"agent_id":"`+a.ID.String()+`"}`)
	g.visit("home", "/")
	g.visit("assistants", "/assistants")

	b.open("/keys")
	b.fill("#key-name", "Booking site")
	b.press("form[action='/keys'] button")
	b.says("Your new key", "cw_live_", "shown this once")
	g.look("keys-new")
	b.do(chromedp.Click(chromedp.CSS("details.confirm summary")))
	g.look("keys-delete")

	b.open("/members")
	b.fill("#invite-email", "not an address@@")
	_, err = chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.querySelector('#invite-email').type = 'text'"))
	require.NoError(t, err)
	b.press("form[action='/members'] button")
	g.look("members-problem")
	b.fill("#invite-email", "li@harbor.example")
	b.press("form[action='/members'] button")
	b.says("Send this link to them", "/invite#cwl_")
	g.look("members-invited")
	invite := b.text()
	invite = invite[strings.Index(invite, "/invite#cwl_"):]
	invite = strings.Fields(invite)[0]

	// An assistant that waits.
	code := h.pairing(t, "Claude Desktop")
	g.visit("pair-code", "/pair")
	g.visit("pair-wrong", "/pair?code=2222-2222")
	g.visit("pair", "/pair?code="+code)
	b.press("button[value=approve]")
	b.says("“Claude Desktop” is connected")
	g.look("pair-approved")
	b.open("/pair?code=" + h.pairing(t, ""))
	b.says("Connect an assistant", "gave no name")
	b.press("button[value=deny]")
	b.says("An assistant gets nothing")
	g.look("pair-denied")
	late := h.pairing(t, "Cursor")
	b.open("/pair?code=" + late)
	later.Add(16 * 60)
	b.press("button[value=approve]")
	b.says("This code is too old")
	g.look("pair-expired")
	g.visit("audit", "/audit")

	// People who come in.
	b.open("/account")
	b.press("form[action='/sign-out'] button")
	b.says("You are signed out.")
	g.look("sign-in")
	b.fill("#sign-in-email", "maria@harbor.example")
	b.fill("#sign-in-password", "wrong horse battery")
	b.press("form[action='/sign-in'] button")
	b.says("The email address or the password is wrong.")
	require.Equal(t, "maria@harbor.example", b.value("#sign-in-email"))
	require.Empty(t, b.value("#sign-in-password"))
	g.look("sign-in-wrong")
	g.visit("sign-up", "/sign-up")
	g.visit("pair-sign-up", "/pair?code="+h.pairing(t, "Claude Desktop")+"#email=maria@harbor.example&first_name=Maria&last_name=Alvarez")
	g.visit("not-found-stranger", "/no/such/page")
	g.visit("invite-code", "/invite")
	b.open(invite)
	b.see("#invite-password")
	b.says("Join Harbor Dental", "li@harbor.example", "a member")
	g.look("invite")
	b.fill("#invite-password", "short words 10")
	b.press("form[action='/invite'] button")
	b.says("Welcome. Your account is ready.")
	g.visit("members-member", "/members")
	g.visit("settings-member", "/settings")

	users, err := h.identity.UserByEmail(t.Context(), "li@harbor.example")
	require.NoError(t, err)
	_, err = h.identity.ChangeRole(identity.WithPrincipal(w.ctx(t), w.owner(t)), users[0].ID, "viewer")
	require.NoError(t, err)
	g.visit("keys-viewer", "/keys")
	g.visit("settings-viewer", "/settings")
	g.visit("pair-viewer", "/pair?code="+h.pairing(t, "Claude Desktop"))
	g.visit("audit-viewer", "/audit")
	b.says("403", "Not allowed")
	reset, err := h.identity.ResetLink(t.Context(), users[0].ID)
	require.NoError(t, err)
	b.open("/reset#" + reset)
	b.see("#reset-password")
	g.look("reset")
	b.fill("#reset-password", "a few new words")
	b.press("form[action='/reset'] button")
	b.says("Your password is set.")
	b.look(390, "light")
	b.do(chromedp.Click(chromedp.CSS(".nav-narrow summary")))
	g.look("menu")

	// Where only people with an invite come in, and a provider vouches for them.
	h = openWith(t, storetest.SQLite(t), nil, func(c *identity.Config) {
		c.OpenID = identity.OpenID{Issuer: "https://login.example.com", ClientID: "callwright", Name: "Example"}
	})
	b.url = h.url
	g.visit("sign-in-provider", "/sign-in")
	g.visit("pair-set-up", "/pair?code="+h.pairing(t, "Claude Desktop"))
	g.visit("sign-up-closed", "/sign-up")
	require.Empty(t, b.complaints())
}

// owner is the person who administers the workspace.
func (w *tenant) owner(t *testing.T) identity.Principal {
	t.Helper()
	id := uuid.Nil
	users, err := w.house.db.Ent().User.Query().All(store.System(t.Context()))
	require.NoError(t, err)
	for _, u := range users {
		if u.WorkspaceID != nil && *u.WorkspaceID == w.id && u.Role == identity.RoleOwner {
			id = u.ID
		}
	}
	return identity.Principal{WorkspaceID: w.id, UserID: &id, Role: identity.RoleOwner}
}
