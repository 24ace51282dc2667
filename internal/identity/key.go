package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/apikey"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// An API key is "cw_live_", 43 base62 digits that hold 256 random bits, and 6 base62 digits of the CRC-32 of all before
// them. The prefix lets scanners find leaked keys; the checksum refuses mistyped ones without asking the database. It
// never holds a dot, so it can not be taken for a user token.
const (
	keyPrefix   = "cw_live_"
	keyRandom   = 43
	keyChecksum = 6
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Minted is a new API key. The secret is shown once; the row keeps only its SHA-256.
type Minted struct {
	Row    *ent.APIKey
	Secret string
}

// NewKey is what an API key is made of.
type NewKey struct {
	Name string
	// Scopes defaults to all of KeyScopes.
	Scopes []string
	// Source is command, portal or pairing. Defaults to command.
	Source string
	// CreatedBy is the user who made it, if one did.
	CreatedBy *uuid.UUID
}

// CreateKey makes an API key of a workspace. An unknown scope is validation_failed, an unknown workspace
// workspace_not_found.
func (i *Identity) CreateKey(ctx context.Context, workspace uuid.UUID, in NewKey) (Minted, error) {
	var m Minted
	ctx = store.WithWorkspace(ctx, workspace)
	err := i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if _, err = PlanOf(ctx, tx.Client, workspace); err != nil {
			return err
		}
		m, err = mintKey(ctx, tx, workspace, in)
		return err
	})
	return m, err
}

func mintKey(ctx context.Context, tx *store.Tx, workspace uuid.UUID, in NewKey) (Minted, error) {
	if len(in.Scopes) == 0 {
		in.Scopes = KeyScopes
	}
	for _, s := range in.Scopes {
		if !slices.Contains(KeyScopes, s) {
			return Minted{}, fault.Invalidf("scopes: unknown scope %q", s).With("known", anys(KeyScopes))
		}
	}
	name, err := text("name", in.Name, 0, 128)
	if err != nil {
		return Minted{}, err
	}
	if in.Source == "" {
		in.Source = "command"
	}
	key := newKeySecret()
	row, err := tx.APIKey.Create().
		SetWorkspaceID(workspace).
		SetName(name).
		SetHash(hashKey(key)).
		SetHint(key[len(key)-4:]).
		SetScopes(in.Scopes).
		SetSource(in.Source).
		SetNillableCreatedBy(in.CreatedBy).
		Save(ctx)
	return Minted{Row: row, Secret: key}, err
}

// DeleteKey ends an API key of the context's workspace; from its commit on no process accepts the key. Other keys are
// not affected (spec: Authentication, rule 1). An unknown key is api_key_not_found.
func (i *Identity) DeleteKey(ctx context.Context, id uuid.UUID) error {
	return i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.APIKey.Delete().Where(apikey.ID(id)).Exec(ctx)
		if err == nil && n == 0 {
			return fault.Missing("api_key")
		}
		return err
	})
}

// key resolves an API key.
func (i *Identity) key(ctx context.Context, token string) (Principal, error) {
	if !wellFormedKey(token) {
		return Principal{}, errUnauthorized.Wrap(errors.New("not an API key of ours"))
	}
	row, err := i.db.Ent().APIKey.Query().Where(apikey.Hash(hashKey(token))).Only(ctx)
	if ent.IsNotFound(err) {
		return Principal{}, errUnauthorized.Wrap(errors.New("unknown API key"))
	}
	if err != nil {
		return Principal{}, err
	}
	if err := i.touch(ctx, row); err != nil {
		return Principal{}, err
	}
	return Principal{WorkspaceID: row.WorkspaceID, KeyID: &row.ID, Scopes: row.Scopes}, nil
}

func newKeySecret() string {
	random := make([]byte, 32)
	rand.Read(random) // never fails: crypto/rand
	body := keyPrefix + digits(new(big.Int).SetBytes(random), keyRandom)
	return body + checksum(body)
}

func wellFormedKey(key string) bool {
	cut := len(keyPrefix) + keyRandom
	return len(key) == cut+keyChecksum && strings.HasPrefix(key, keyPrefix) && checksum(key[:cut]) == key[cut:]
}

func checksum(body string) string {
	return digits(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), keyChecksum)
}

// digits writes n in base 62 with leading zeros.
func digits(n *big.Int, width int) string {
	out := make([]byte, width)
	base, digit := big.NewInt(62), new(big.Int)
	for k := width - 1; k >= 0; k-- {
		n, digit = new(big.Int).DivMod(n, base, digit)
		out[k] = base62[digit.Int64()]
	}
	return string(out)
}

func hashKey(key string) []byte {
	h := sha256.Sum256([]byte(key))
	return h[:]
}
