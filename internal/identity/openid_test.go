package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/identity/openidtest"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// vouching is a house with a provider.
func vouching(t *testing.T, db *store.DB, change ...func(*identity.Config)) (house, *openidtest.Provider) {
	t.Helper()
	var p *openidtest.Provider
	h := open(t, db, append([]func(*identity.Config){func(c *identity.Config) {
		p = openidtest.New(t, c.Now)
		c.Log = slog.New(slog.DiscardHandler)
		c.OpenID = identity.OpenID{
			Issuer: p.URL, ClientID: "callwright", ClientSecret: "hush", RedirectURL: "https://calls.example.com/sign-in/openid/done",
		}
	}}, change...)...)
	return h, p
}

// come signs in with the provider.
func (h house) come(t *testing.T, p *openidtest.Provider) (identity.Vouched, error) {
	t.Helper()
	address, kept, err := h.id.BeginOpenID(t.Context())
	require.NoError(t, err)
	require.NotContains(t, address, kept)
	code, state := p.Visit(address)
	return h.id.FinishOpenID(t.Context(), kept, state, code)
}

func TestAPersonSignsInWithAProvider(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, p := vouching(t, db)
		bo := h.enrolled(t, "bo@example.com", "member")
		v, err := h.come(t, p)
		require.NoError(t, err)
		require.Equal(t, bo.User.ID, v.SignedIn.User.ID, "by the verified address")
		principal, err := h.id.Authenticate(t.Context(), v.SignedIn.Token)
		require.NoError(t, err)
		require.Equal(t, "member", principal.Role)

		p.Claims = map[string]any{"email": "new-name@example.com"}
		v, err = h.come(t, p)
		require.NoError(t, err)
		require.Equal(t, bo.User.ID, v.SignedIn.User.ID, "by the provider's name for them, whatever their address is now")

		p.Claims = map[string]any{"sub": "somebody who got the address later"}
		_, err = h.come(t, p)
		require.True(t, fault.Is(err, "no_account"), "%v", err)

		require.NoError(t, h.id.SignOutEverywhere(h.bearer(t, v.SignedIn.Token)))
		_, err = h.id.Authenticate(t.Context(), v.SignedIn.Token)
		requireUnauthorized(t, err)
		_, _, err = h.id.SignIn(t.Context(), "bo@example.com", goodPassword, nil)
		require.NoError(t, err, "the password is as good as before")
	})
}

func TestStrangersOfAProviderStayOutUnlessTheyMaySignUp(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, p := vouching(t, db)
		_, err := h.come(t, p)
		require.True(t, fault.Is(err, "no_account"), "%v", err)
		require.Equal(t, fault.Denied, fault.From(err).Kind)

		_, token, err := h.id.Invite(h.as(t, "owner"), "bo@example.com", "viewer")
		require.NoError(t, err)
		v, err := h.come(t, p)
		require.NoError(t, err, "who is invited comes in")
		require.Equal(t, "viewer", v.SignedIn.User.Role)
		require.Equal(t, h.Workspace.ID, v.SignedIn.Workspace.ID)
		_, err = h.id.AcceptInvite(t.Context(), token, identity.Newcomer{Password: goodPassword})
		require.True(t, fault.Is(err, "link_not_found"), "the invite is used up: %v", err)
		again, err := h.come(t, p)
		require.NoError(t, err)
		require.Equal(t, v.SignedIn.User.ID, again.SignedIn.User.ID)
	})
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, p := vouching(t, db, func(c *identity.Config) { c.SignUpOpen = true })
		needs, err := h.id.NeedsSetUp(t.Context())
		require.NoError(t, err)
		require.True(t, needs)
		v, err := h.come(t, p)
		require.NoError(t, err)
		require.Equal(t, "owner", v.SignedIn.User.Role)
		require.Equal(t, "Workspace of Bo Example", v.SignedIn.Workspace.Name)
		require.NotEqual(t, h.Workspace.ID, v.SignedIn.Workspace.ID)
		needs, err = h.id.NeedsSetUp(t.Context())
		require.NoError(t, err)
		require.False(t, needs, "somebody can sign in, without a password")
		token, err := h.id.SetUpLink(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, token)
	})
}

func TestAPersonOfSeveralWorkspacesChoosesOne(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, p := vouching(t, db)
		bo := h.enrolled(t, "bo@example.com", "member")
		other, err := h.id.CreateWorkspace(t.Context(), identity.NewWorkspace{Name: "Elsewhere", OwnerEmail: "bo@example.com"})
		require.NoError(t, err)
		v, err := h.come(t, p)
		require.NoError(t, err)
		require.Empty(t, v.SignedIn.Token)
		require.Len(t, v.Workspaces, 2)
		s, err := h.id.ChooseOpenID(t.Context(), v.Ticket, other.Workspace.ID)
		require.NoError(t, err)
		require.Equal(t, other.Owner.ID, s.User.ID)
		v, err = h.come(t, p)
		require.NoError(t, err)
		require.Len(t, v.Workspaces, 2, "the other one stays within reach")
		s, err = h.id.ChooseOpenID(t.Context(), v.Ticket, bo.Workspace.ID)
		require.NoError(t, err)
		require.Equal(t, bo.User.ID, s.User.ID)

		_, err = h.id.ChooseOpenID(t.Context(), v.Ticket, store.NewID())
		require.True(t, fault.Is(err, "openid_failed"), "%v", err)
		_, err = h.id.ChooseOpenID(t.Context(), v.Ticket+"A", bo.Workspace.ID)
		require.True(t, fault.Is(err, "openid_failed"), "%v", err)
		h.clock.advance(5 * time.Minute)
		_, err = h.id.ChooseOpenID(t.Context(), v.Ticket, bo.Workspace.ID)
		require.True(t, fault.Is(err, "openid_failed"), "%v", err)
	})
}

func TestForgedAndForeignTokensOfAProviderAreRefused(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, p := vouching(t, db, func(c *identity.Config) { c.OpenID.Domains = []string{"Example.com"} })
		h.enrolled(t, "bo@example.com", "owner")
		stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		genuine := p.Sign
		now := h.clock.now().Unix()
		for name, c := range map[string]struct {
			claims map[string]any
			sign   func(jwt.MapClaims) string
			code   string
		}{
			"another nonce":            {claims: map[string]any{"nonce": "another"}},
			"no nonce":                 {claims: map[string]any{"nonce": nil}},
			"another audience":         {claims: map[string]any{"aud": "somebody else"}},
			"no audience":              {claims: map[string]any{"aud": nil}},
			"another issuer":           {claims: map[string]any{"iss": "https://evil.example.com"}},
			"an old token":             {claims: map[string]any{"exp": now - 60}},
			"no end":                   {claims: map[string]any{"exp": nil}},
			"not valid yet":            {claims: map[string]any{"nbf": now + 3600}},
			"no subject":               {claims: map[string]any{"sub": nil}},
			"no address":               {claims: map[string]any{"email": nil}},
			"a broken address":         {claims: map[string]any{"email": "Bo <bo@example.com>"}},
			"an unverified address":    {claims: map[string]any{"email_verified": false}, code: "email_not_verified"},
			"verification left out":    {claims: map[string]any{"email_verified": nil}, code: "email_not_verified"},
			"a verification in words":  {claims: map[string]any{"email_verified": "yes"}, code: "email_not_verified"},
			"a foreign domain":         {claims: map[string]any{"email": "bo@example.org"}, code: "domain_not_allowed"},
			"a domain that ends alike": {claims: map[string]any{"email": "bo@notexample.com"}, code: "domain_not_allowed"},
			"another key":              {sign: func(c jwt.MapClaims) string { return p.SignedBy(stranger, c) }},
			"no signature": {sign: func(c jwt.MapClaims) string {
				text, err := jwt.NewWithClaims(jwt.SigningMethodNone, c).SignedString(jwt.UnsafeAllowNoneSignatureType)
				require.NoError(t, err)
				return text
			}},
			"the secret as a key": {sign: func(c jwt.MapClaims) string {
				text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString([]byte("hush"))
				require.NoError(t, err)
				return text
			}},
			"no token": {sign: func(jwt.MapClaims) string { return "" }},
			"nonsense": {sign: func(jwt.MapClaims) string { return "a.b.c" }},
		} {
			p.Claims, p.Sign = c.claims, genuine
			if c.sign != nil {
				p.Sign = c.sign
			}
			if c.code == "" {
				c.code = "openid_failed"
			}
			v, err := h.come(t, p)
			require.True(t, fault.Is(err, c.code), "%s: %v", name, err)
			require.Empty(t, v.SignedIn.Token, name)
		}
		p.Claims, p.Sign = map[string]any{"email_verified": "true"}, genuine
		_, err = h.come(t, p)
		require.NoError(t, err, "and a good one passes")
	})
}

func TestAWayBackFromTheProviderWorksOnceAndInOneBrowser(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, p := vouching(t, db)
		h.enrolled(t, "bo@example.com", "owner")
		second := identity.New(identity.Config{DB: db, Key: h.key, Now: h.clock.now, Log: slog.New(slog.DiscardHandler), OpenID: identity.OpenID{
			Issuer: p.URL, ClientID: "callwright", ClientSecret: "hush", RedirectURL: "https://calls.example.com/sign-in/openid/done"}})
		failed := func(err error, why string) {
			t.Helper()
			require.True(t, fault.Is(err, "openid_failed"), "%s: %v", why, err)
		}

		address, kept, err := h.id.BeginOpenID(t.Context())
		require.NoError(t, err)
		code, state := p.Visit(address)
		_, err = h.id.FinishOpenID(t.Context(), kept, "another", code)
		failed(err, "another state")
		_, otherKept, err := h.id.BeginOpenID(t.Context())
		require.NoError(t, err)
		_, err = h.id.FinishOpenID(t.Context(), otherKept, state, code)
		failed(err, "another browser")
		for _, broken := range []string{"", "x", kept[:len(kept)-2], "Z" + kept[1:]} {
			_, err = h.id.FinishOpenID(t.Context(), broken, state, code)
			failed(err, "what the browser kept is broken")
		}
		_, err = h.id.FinishOpenID(t.Context(), kept, state, "")
		failed(err, "no code")
		_, err = second.FinishOpenID(t.Context(), kept, state, code)
		require.NoError(t, err, "any process may finish it")
		code, _ = p.Visit(address)
		_, err = h.id.FinishOpenID(t.Context(), kept, state, code)
		failed(err, "a state that was used, with a new code")

		address, kept, err = h.id.BeginOpenID(t.Context())
		require.NoError(t, err)
		code, state = p.Visit(address)
		h.clock.advance(10 * time.Minute)
		_, err = h.id.FinishOpenID(t.Context(), kept, state, code)
		failed(err, "too late")

		stranger := identity.New(identity.Config{DB: db, Key: secret.NewKey(), Now: h.clock.now, OpenID: identity.OpenID{Issuer: p.URL, ClientID: "callwright"}})
		_, foreign, err := stranger.BeginOpenID(t.Context())
		require.NoError(t, err)
		_, err = h.id.FinishOpenID(t.Context(), foreign, state, code)
		failed(err, "of another installation")
	})
}

func TestAProviderThatIsAwayIsAskedAgain(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		none := open(t, db)
		require.Empty(t, none.id.OpenIDName())
		_, _, err := none.id.BeginOpenID(t.Context())
		require.True(t, fault.Is(err, "openid_not_found"), "%v", err)
		_, err = none.id.FinishOpenID(t.Context(), "", "", "")
		require.True(t, fault.Is(err, "openid_not_found"), "%v", err)

		h, p := vouching(t, db)
		require.Contains(t, p.URL, h.id.OpenIDName())
		handler := p.Config.Handler
		p.Config.Handler = http.NotFoundHandler()
		_, _, err = h.id.BeginOpenID(t.Context())
		require.Equal(t, fault.Unavailable, fault.From(err).Kind, "%v", err)
		p.Config.Handler = handler
		_, _, err = h.id.BeginOpenID(t.Context())
		require.NoError(t, err)
	})
}

// One person who comes twice at the same moment is one user.
func TestAStrangerWhoComesTwiceAtOnceIsOnePerson(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h, p := vouching(t, db, func(c *identity.Config) { c.SignUpOpen = true })
		var all sync.WaitGroup
		for range 6 {
			address, kept, err := h.id.BeginOpenID(t.Context())
			require.NoError(t, err)
			code, state := p.Visit(address)
			all.Go(func() { _, _ = h.id.FinishOpenID(t.Context(), kept, state, code) })
		}
		all.Wait()
		v, err := h.come(t, p)
		require.NoError(t, err)
		users, err := db.Ent().User.Query().All(store.System(t.Context()))
		require.NoError(t, err)
		var found []*ent.User
		for _, u := range users {
			if u.OidcSubject != nil {
				found = append(found, u)
			}
		}
		require.Len(t, found, 1)
		require.Equal(t, found[0].ID, v.SignedIn.User.ID)
	})
}
