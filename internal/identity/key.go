package identity

import (
	"context"
	"errors"
	"slices"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/apikey"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
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
		if m, err = mintKey(ctx, tx, workspace, in); err != nil {
			return err
		}
		return i.note(ctx, tx, workspace, event{Action: "key_created", Subject: m.Row.Name, Detail: m.Row.Source})
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
	key := newToken(keyPrefix)
	row, err := tx.APIKey.Create().
		SetWorkspaceID(workspace).
		SetName(name).
		SetHash(digest(key)).
		SetHint(key[len(key)-4:]).
		SetScopes(in.Scopes).
		SetSource(in.Source).
		SetNillableCreatedBy(in.CreatedBy).
		Save(ctx)
	return Minted{Row: row, Secret: key}, err
}

// DeleteKey ends an API key of the context's workspace; no process accepts it half a second later. Other keys are
// not affected (spec: Authentication, rule 1). An unknown key is api_key_not_found.
func (i *Identity) DeleteKey(ctx context.Context, id uuid.UUID) error {
	defer i.known.forget(id)
	return i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.APIKey.Query().Where(apikey.ID(id)).Only(ctx)
		if ent.IsNotFound(err) {
			return fault.Missing("api_key")
		}
		if err != nil {
			return err
		}
		n, err := tx.APIKey.Delete().Where(apikey.ID(id)).Exec(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.Missing("api_key")
		}
		return i.note(ctx, tx, row.WorkspaceID, event{Action: "key_deleted", Subject: row.Name, Detail: row.Source})
	})
}

// ListKeys lists the keys of the context's workspace, newest first.
func ListKeys(ctx context.Context, c *ent.Client, offset int, limit *int) (store.Page[*ent.APIKey], error) {
	rows := func(ctx context.Context, offset, limit int) ([]*ent.APIKey, error) {
		return c.APIKey.Query().Order(apikey.ByCreatedAt(sql.OrderDesc()), apikey.ByID(sql.OrderDesc())).
			Offset(offset).Limit(limit).All(ctx)
	}
	return store.ReadPage(ctx, offset, limit, rows, c.APIKey.Query().Count)
}

// key resolves an API key.
func (i *Identity) key(ctx context.Context, token string) (Principal, error) {
	if !wellFormed(keyPrefix, token) {
		return Principal{}, errUnauthorized.Wrap(errors.New("not an API key of ours"))
	}
	sum := digest(token)
	if p, ok := i.known.find(sum, i.now()); ok {
		return p, nil
	}
	row, err := i.db.Ent().APIKey.Query().Where(apikey.Hash(sum)).Only(ctx)
	if ent.IsNotFound(err) {
		return Principal{}, errUnauthorized.Wrap(errors.New("unknown API key"))
	}
	if err != nil {
		return Principal{}, err
	}
	if err := i.touch(ctx, row); err != nil {
		return Principal{}, err
	}
	p := Principal{WorkspaceID: row.WorkspaceID, KeyID: &row.ID, Scopes: row.Scopes}
	if row.LastUsedAt != nil { // else this use was the first, and whether there was one must stay exact
		i.known.keep(sum, p, i.now())
	}
	return p, nil
}
