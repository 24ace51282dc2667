// Package openidtest is an OpenID provider for tests: it publishes a key, and signs whatever claims a test wants.
package openidtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// Provider is an OpenID provider on this machine. It signs in whoever it is told to.
type Provider struct {
	*httptest.Server
	t   testing.TB
	key *ecdsa.PrivateKey
	now func() time.Time
	// Claims are those of the next tokens, beside what every token has; a nil value takes one away.
	Claims map[string]any
	// Sign makes the token of the claims. Defaults to ES256 with the key that is published.
	Sign func(jwt.MapClaims) string

	mu    sync.Mutex
	codes map[string]url.Values // what was asked for, by code
}

// New starts a provider; now is its clock.
func New(t testing.TB, now func() time.Time) *Provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p := &Provider{t: t, key: key, now: now, codes: map[string]url.Values{}}
	p.Sign = func(c jwt.MapClaims) string { return p.SignedBy(p.key, c) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		p.answer(w, 200, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		x, y := make([]byte, 32), make([]byte, 32)
		p.key.X.FillBytes(x)
		p.key.Y.FillBytes(y)
		p.answer(w, 200, map[string]any{"keys": []any{map[string]any{
			"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "1",
			"x": base64.RawURLEncoding.EncodeToString(x), "y": base64.RawURLEncoding.EncodeToString(y),
		}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *Provider) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// SignedBy is a token signed with a key that need not be the published one.
func (p *Provider) SignedBy(key *ecdsa.PrivateKey, c jwt.MapClaims) string {
	token := jwt.NewWithClaims(jwt.SigningMethodES256, c)
	token.Header["kid"] = "1"
	text, err := token.SignedString(key)
	require.NoError(p.t, err)
	return text
}

// Visit is a person at the provider: it returns the code and state of the address that they are sent back by.
func (p *Provider) Visit(address string) (code, state string) {
	u, err := url.Parse(address)
	require.NoError(p.t, err)
	q := u.Query()
	require.Equal(p.t, p.URL+"/authorize", u.Scheme+"://"+u.Host+u.Path)
	require.Equal(p.t, "code", q.Get("response_type"))
	require.Equal(p.t, "S256", q.Get("code_challenge_method"))
	require.Regexp(p.t, "^https?://.+/sign-in/openid/done$", q.Get("redirect_uri"))
	p.mu.Lock()
	defer p.mu.Unlock()
	code = rand.Text()
	p.codes[code] = q
	return code, q.Get("state")
}

// token exchanges a code once, for who has the verifier and the secret.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	q, ok := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	id, password, _ := r.BasicAuth()
	if id == "" {
		id, password = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !ok || id != "callwright" || password != "hush" || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") {
		p.answer(w, 400, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := jwt.MapClaims{
		"iss": p.URL, "aud": "callwright", "sub": "subject-1", "nonce": q.Get("nonce"), "iat": p.now().Unix(),
		"exp": p.now().Add(time.Minute).Unix(), "email": "bo@example.com", "email_verified": true, "name": "Bo Example",
	}
	maps.Copy(claims, p.Claims)
	for name, value := range claims {
		if value == nil {
			delete(claims, name)
		}
	}
	p.answer(w, 200, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.Sign(claims)})
}
