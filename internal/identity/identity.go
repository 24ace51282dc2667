// Package identity knows who is calling: workspaces with their plans, users, API keys and user tokens, and the
// [Principal] that a credential resolves to.
//
// A credential is a bearer token. One of three dot-separated segments is a user token (a JWT that this installation
// signed), anything else an API key (spec: Authentication). Both resolve to a workspace or to 401 unauthorized; there is
// no unscoped way in. Nothing is cached: a key is looked up by its digest on every request (one indexed read, below 0.1
// ms), so a deleted key is refused by every process from the moment its deletion has committed.
package identity

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
)

// Config is what an Identity needs.
type Config struct {
	DB *store.DB
	// Key is the master key; user tokens are signed with a key drawn from it. Without it none is made or accepted.
	Key secret.Key
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Identity checks credentials and makes them.
type Identity struct {
	db     *store.DB
	log    *slog.Logger
	signer ed25519.PrivateKey

	mu   sync.Mutex
	used map[uuid.UUID]time.Time // keys whose last use waits to be written, see Run
}

// New returns an Identity. Run writes the times of last use; without it only a key's first use is kept.
func New(c Config) *Identity {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	i := &Identity{db: c.DB, log: c.Log, used: map[uuid.UUID]time.Time{}}
	if !c.Key.IsZero() {
		i.signer = c.Key.Signing("user token")
	}
	return i
}

// MaxToken is the longest credential that is looked at, in bytes.
const MaxToken = 8 << 10

// errUnauthorized is the one answer to a credential that is missing, malformed, unknown, expired or without a workspace:
// it does not say which (spec: Authentication, rule 2).
var errUnauthorized = fault.New(fault.Unauthenticated, "unauthorized",
	"a valid API key or user token is needed: Authorization: Bearer <token>")

// Authenticate resolves a bearer token. Every token that is not a valid credential of a workspace gives unauthorized
// (401), whose cause is for the log only; other errors mean that the database could not be asked.
func (i *Identity) Authenticate(ctx context.Context, token string) (Principal, error) {
	ctx = store.System(ctx) // the workspace is what we are about to learn
	switch {
	case token == "" || len(token) > MaxToken:
		return Principal{}, errUnauthorized
	case strings.Count(token, ".") == 2:
		return i.user(ctx, token)
	default:
		return i.key(ctx, token)
	}
}
