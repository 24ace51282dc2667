package main_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func openToAll(c *identity.Config) { c.SignUpOpen = true }

// From a code to a key, as an owner who has no account does it.
func TestAnOwnerWithoutAnAccountPairsAnAssistant(t *testing.T) {
	var later atomic.Int64 // seconds
	h := openWith(t, storetest.SQLite(t), nil, openToAll, func(c *identity.Config) {
		c.Now = func() time.Time { return store.Now().Add(time.Duration(later.Load()) * time.Second) }
	})
	w := h.found(t, "somebody else's") // whose owner has no password: nobody can sign in, so sign-up needs a first person
	token, err := h.identity.SetUpLink(t.Context(), &w.id)
	require.NoError(t, err)
	_, err = h.identity.SetUp(t.Context(), token, identity.Newcomer{Email: "first@example.com", Password: horse})
	require.NoError(t, err)

	s := &surface{t: t, name: "REST", house: h, tenant: w, vars: map[string]any{}}
	r := s.overREST(apiStep{Send: "POST /v1/agent/onboarding/start", As: "none", Body: `{"client_name":"Claude Desktop",
		"prefill":{"email":"CANARY-maria@example.com","first_name":"CANARY-Maria","last_name":"Alvarez","phone":"+14155552671"}}`})
	require.Equal(t, "201", r.answer, "%s", show(r.body))
	started := r.body.(map[string]any)
	link := strings.TrimPrefix(started["verification_url_complete"].(string), h.url)
	require.Contains(t, link, "#email=CANARY-maria")

	front, seen := tap(t, h.url)
	b := newBrowser(t, front)
	b.open(link)
	require.Equal(t, "CANARY-maria@example.com", b.value("#sign-up-email"))
	require.Equal(t, "CANARY-Maria", b.value("#sign-up-first_name"))
	require.Equal(t, "Alvarez", b.value("#sign-up-last_name"))
	require.Equal(t, "CANARY-maria@example.com", b.value("#sign-in-email"))
	b.says(started["user_code"].(string), "Does it match the code your assistant shows?")
	require.NotContains(t, b.where(), "#", "the fragment is gone from the address bar")
	require.Contains(t, seen.String(), "GET /pair?code=")
	require.NotContains(t, seen.String(), "CANARY", "the server has seen nothing")

	b.fill("#sign-up-email", "maria@example.com")
	b.fill("#sign-up-first_name", "Maria")
	b.fill("#sign-up-workspace_name", "Harbor Dental")
	b.fill("#sign-up-password", horse)
	b.press("form[action='/sign-up'] button")
	b.says("Connect “Claude Desktop”", "not verified", "It asked just now", "Harbor Dental", "place calls")
	require.Contains(t, b.where(), "/pair?code=")
	b.press("button[value=approve]")
	b.says("Approved", "“Claude Desktop” is connected")

	r = s.overREST(apiStep{Send: "POST /v1/agent/onboarding/poll", As: "none", Body: `{"device_code":"` + started["device_code"].(string) + `"}`})
	require.Equal(t, "200", r.answer, "%s", show(r.body))
	done := r.body.(map[string]any)
	require.Equal(t, "completed", done["status"])
	require.Equal(t, "Harbor Dental", done["workspace_name"])
	key := "Bearer " + done["api_key"].(string)
	r = s.overREST(apiStep{Send: "GET /v1/agents", As: "none", Headers: map[string]string{"Authorization": key}})
	require.Equal(t, "200", r.answer)
	_, err = callwrightv1.NewAgentServiceClient(h.conn).ListAgents(
		metadata.AppendToOutgoingContext(t.Context(), "authorization", key), &callwrightv1.ListAgentsRequest{})
	require.NoError(t, err)

	// A second claim is not to be had once the key was used, and the page says what became of it.
	r = s.overREST(apiStep{Send: "POST /v1/agent/onboarding/poll", As: "none", Body: `{"device_code":"` + started["device_code"].(string) + `"}`})
	require.Equal(t, "410", r.answer, "%s", show(r.body))
	b.open("/pair?code=" + started["user_code"].(string))
	b.says("is connected")
	b.open("/keys")
	b.says("Claude Desktop", "Paired assistant, approved by maria@example.com")
	b.open("/audit")
	b.says("approved the assistant", "an assistant", "collected the key for Claude Desktop")

	// One that is denied, and one that nobody decides in time.
	for _, c := range []struct{ press, says, status string }{
		{"button[value=deny]", "gets nothing", "denied"}, {"", "This code is too old", "expired"},
	} {
		r = s.overREST(apiStep{Send: "POST /v1/agent/onboarding/start", As: "none", Body: `{"client_name":"Cursor"}`})
		require.Equal(t, "201", r.answer)
		started := r.body.(map[string]any)
		b.open("/pair?code=" + started["user_code"].(string))
		b.says("Connect “Cursor”")
		if c.press != "" {
			b.press(c.press)
		} else {
			later.Add(15 * 60)
			b.press("button[value=approve]")
		}
		b.says(c.says)
		r = s.overREST(apiStep{Send: "POST /v1/agent/onboarding/poll", As: "none", Body: `{"device_code":"` + started["device_code"].(string) + `"}`})
		require.Equal(t, "200", r.answer, "%s", show(r.body))
		require.Equal(t, map[string]any{"status": c.status}, r.body)
	}
	require.NotContains(t, seen.String(), "CANARY")
	require.Empty(t, b.complaints())
}
