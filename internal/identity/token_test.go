package identity_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func canceled(t testing.TB) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// forge signs claims as the product does, after change had its way with them.
func (w world) forge(t testing.TB, change func(jwt.MapClaims, map[string]any)) string {
	t.Helper()
	now := time.Now()
	claims := jwt.MapClaims{
		"iss": "callwright", "aud": "callwright", "sub": w.Owner.ID.String(),
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	change(claims, token.Header)
	signed, err := token.SignedString(w.key.Signing("user token"))
	require.NoError(t, err)
	return signed
}

// resign keeps the header and claims of a good token and signs them with another method.
func (w world) resign(t testing.TB, method jwt.SigningMethod, key any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims{
		"iss": "callwright", "aud": "callwright", "sub": w.Owner.ID.String(),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	signed, err := token.SignedString(key)
	require.NoError(t, err)
	return signed
}

func segment(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }

func TestForgedTokensAreUnauthorized(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		public := w.key.Signing("user token").Public().(ed25519.PublicKey)
		rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		_, stranger, err := ed25519.GenerateKey(rand.Reader)
		require.NoError(t, err)
		future := time.Now().Add(time.Hour).Unix()
		good := w.forge(t, func(jwt.MapClaims, map[string]any) {})
		_, err = w.id.Authenticate(t.Context(), good)
		require.NoError(t, err, "the forger can make a good one")
		parts := strings.Split(good, ".")
		claim := func(name string, value any) string {
			return w.forge(t, func(c jwt.MapClaims, _ map[string]any) {
				if c[name] = value; value == nil {
					delete(c, name)
				}
			})
		}
		header := func(name string, value any) string {
			return w.forge(t, func(_ jwt.MapClaims, h map[string]any) { h[name] = value })
		}

		forged := map[string]string{
			"alg none":                      w.resign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType),
			"alg none in capitals":          segment(`{"alg":"NONE","typ":"JWT"}`) + "." + parts[1] + ".",
			"HS256 with the public key":     w.resign(t, jwt.SigningMethodHS256, []byte(public)),
			"RS256 of a stranger":           w.resign(t, jwt.SigningMethodRS256, rsaKey),
			"PS256 of a stranger":           w.resign(t, jwt.SigningMethodPS256, rsaKey),
			"ES256 of a stranger":           w.resign(t, jwt.SigningMethodES256, ecKey),
			"EdDSA of a stranger":           w.resign(t, jwt.SigningMethodEdDSA, stranger),
			"header says another algorithm": header("alg", "HS256"),
			"a critical header":             header("crit", []string{"b64"}),
			"no signature":                  parts[0] + "." + parts[1] + ".",
			"signature of other claims":     parts[0] + "." + strings.Split(claim("x", 1), ".")[1] + "." + parts[2],
			"signature with padding":        good + "==",
			"signature with trailing bits":  trailingBits(good),
			"no audience":                   claim("aud", nil),
			"another audience":              claim("aud", "elsewhere"),
			"no issuer":                     claim("iss", nil),
			"another issuer":                claim("iss", "elsewhere"),
			"no end":                        claim("exp", nil),
			"ended a minute ago":            claim("exp", time.Now().Add(-time.Minute).Unix()),
			"an end that is a word":         claim("exp", "never"),
			"issued in the future":          claim("iat", future),
			"no time of issue":              claim("iat", nil),
			"not valid yet":                 claim("nbf", future),
			"no subject":                    claim("sub", nil),
			"a subject that is no id":       claim("sub", "admin"),
			"a subject in another notation": claim("sub", "{"+w.Owner.ID.String()+"}"),
			"a subject that nobody is":      claim("sub", uuid.NewString()),
			"the workspace as subject":      claim("sub", w.Workspace.ID.String()),
			"the key as subject":            claim("sub", w.Key.Row.ID.String()),
			"claims that are a list":        parts[0] + "." + segment(`[]`) + "." + parts[2],
			"a header that is not JSON":     segment(`{`) + "." + parts[1] + "." + parts[2],
			"a kid that walks directories":  w.resignWithKid(t, stranger, "../../dev/null"),
			"an embedded key of the forger": w.resignWithKey(t, stranger),
			"more than 8 KiB":               claim("pad", strings.Repeat("x", 8<<10)),
			"a megabyte":                    strings.Repeat("a", 1<<20) + ".b.c",
			"four segments":                 good + "." + parts[2],
			"a space before it":             " " + good,
			"two tokens":                    good + " " + good,
		}
		require.GreaterOrEqual(t, len(forged), 18)
		for name, token := range forged {
			t.Run(name, func(t *testing.T) {
				_, err := w.id.Authenticate(t.Context(), token)
				requireUnauthorized(t, err)
			})
		}
	})
}

// trailingBits changes the bits of the last character that carry nothing: a lax decoder takes both for one signature.
func trailingBits(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	at := strings.IndexByte(alphabet, token[len(token)-1])
	return token[:len(token)-1] + string(alphabet[at^1])
}

func (w world) resignWithKid(t testing.TB, key ed25519.PrivateKey, kid string) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": "callwright", "aud": "callwright", "sub": w.Owner.ID.String(),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	token.Header["kid"] = kid
	signed, err := token.SignedString(key)
	require.NoError(t, err)
	return signed
}

func (w world) resignWithKey(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": "callwright", "aud": "callwright", "sub": w.Owner.ID.String(),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	token.Header["jwk"] = map[string]string{
		"kty": "OKP", "crv": "Ed25519", "x": base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey)),
	}
	signed, err := token.SignedString(key)
	require.NoError(t, err)
	return signed
}

func TestClocksMayBeHalfAMinuteApart(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		token := w.forge(t, func(c jwt.MapClaims, _ map[string]any) {
			c["iat"] = time.Now().Add(20 * time.Second).Unix()
			c["nbf"] = time.Now().Add(20 * time.Second).Unix()
		})
		_, err := w.id.Authenticate(t.Context(), token)
		require.NoError(t, err)
		token = w.forge(t, func(c jwt.MapClaims, _ map[string]any) { c["exp"] = time.Now().Add(-20 * time.Second).Unix() })
		_, err = w.id.Authenticate(t.Context(), token)
		require.NoError(t, err)
	})
}

func TestATokenIsMadeForAKnownUserAndABoundedTime(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		token, err := w.id.UserToken(t.Context(), w.Owner.ID, identity.MaxTokenLife)
		require.NoError(t, err)
		require.Equal(t, 2, strings.Count(token, "."))
		p, err := w.id.Authenticate(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, w.Owner.ID, *p.UserID)

		_, err = w.id.UserToken(t.Context(), uuid.New(), time.Hour)
		require.True(t, fault.Is(err, "user_not_found"), "%v", err)
		for _, life := range []time.Duration{0, -time.Second, identity.MaxTokenLife + 1} {
			_, err = w.id.UserToken(t.Context(), w.Owner.ID, life)
			require.True(t, fault.Is(err, "validation_failed"), "%v: %v", life, err)
		}
	})
}

func TestWithoutAMasterKeyThereAreNoUserTokens(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		keyless := identity.New(identity.Config{DB: db})
		f, err := keyless.CreateWorkspace(t.Context(), identity.NewWorkspace{Name: "A"})
		require.NoError(t, err)
		require.Empty(t, f.Token)
		_, err = keyless.UserToken(t.Context(), w.Owner.ID, time.Hour)
		require.Error(t, err)
		_, err = keyless.Authenticate(t.Context(), w.Token)
		requireUnauthorized(t, err)
		_, err = keyless.Authenticate(t.Context(), w.Key.Secret)
		require.NoError(t, err)
	})
}

func FuzzAuthenticate(f *testing.F) {
	w := found(f, storetest.SQLite(f))
	for _, seed := range []string{
		w.Key.Secret, w.Token, "", ".", "..", "a.b.c", "cw_live_",
		segment(`{"alg":"none"}`) + "." + segment(`{"sub":"x"}`) + ".",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		p, err := w.id.Authenticate(t.Context(), token)
		if err == nil {
			require.Contains(t, []string{w.Key.Secret, w.Token}, token)
			require.Equal(t, w.Workspace.ID, p.WorkspaceID)
			return
		}
		requireUnauthorized(t, err)
	})
}
