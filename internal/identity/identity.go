// Package identity knows who is calling: workspaces with their plans, people and how they sign in, API keys and how
// assistants pair for one, and the [Principal] that a credential resolves to.
//
// A credential is a bearer token. One of three dot-separated segments is a user token (a JWT that this installation
// signed), one with the prefix of sessions a person who signed in, anything else an API key (spec: Authentication). All
// resolve to a workspace or to 401 unauthorized; there is no unscoped way in. Sessions and users are looked up on every
// request. What a key resolves to is remembered for half a second, since a busy client sends hundreds of requests in it: a
// deleted key is refused at once by the process that deleted it, and by every other within that time.
//
// Limits on guessing (codes, passwords) and on starts of pairings count rows, so they hold over all processes.
package identity

import (
	"cmp"
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
	// PublicURL is the address that people and clients reach this installation by, without a slash at its end. Without it
	// addresses are given as paths.
	PublicURL string
	// SignUpOpen lets everybody make a workspace of their own. Defaults to invites only.
	SignUpOpen bool
	// PairingLifetime is how long a pairing's code works. Defaults to 15 minutes (spec: Limits).
	PairingLifetime time.Duration
	// PairingStarts is how many pairings a client address may start in 10 minutes; 0 is no limit.
	PairingStarts int
	// OpenID lets people sign in with a provider. Defaults to none.
	OpenID OpenID
	// Now is the clock of everything that expires. Defaults to store.Now; tests move it.
	Now func() time.Time
	// Log defaults to slog.Default().
	Log *slog.Logger
}

// Identity checks credentials and makes them.
type Identity struct {
	db     *store.DB
	log    *slog.Logger
	signer ed25519.PrivateKey
	sealer secret.Key
	openID *openID // nil without a provider
	now    func() time.Time
	stove  stove

	public          string
	signUpOpen      bool
	pairingLifetime time.Duration
	pairingStarts   int

	known knownKeys

	mu   sync.Mutex
	used map[uuid.UUID]time.Time // keys whose last use waits to be written, see Run
}

// New returns an Identity. Run writes the times of last use; without it only a key's first use is kept.
func New(c Config) *Identity {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = store.Now
	}
	i := &Identity{
		db: c.DB, log: c.Log, now: c.Now, stove: newStove(), used: map[uuid.UUID]time.Time{},
		public: c.PublicURL, signUpOpen: c.SignUpOpen,
		pairingLifetime: cmp.Or(c.PairingLifetime, 15*time.Minute), pairingStarts: c.PairingStarts,
	}
	if !c.Key.IsZero() {
		i.signer, i.sealer = c.Key.Signing("user token"), c.Key
		i.openID = newOpenID(c.OpenID)
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
	case strings.HasPrefix(token, sessionPrefix):
		return i.session(ctx, token)
	default:
		return i.key(ctx, token)
	}
}
