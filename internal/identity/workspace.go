package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/workspace"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// NewWorkspace is what a workspace is made of.
type NewWorkspace struct {
	// Name has 1 to 128 characters.
	Name string
	// OwnerEmail is the owner's address; may be empty.
	OwnerEmail string
	// Plan defaults to DefaultPlan.
	Plan *Plan
	// HIPAA keeps transcripts, summaries and recordings of all its calls out of the store.
	HIPAA bool
	// TokenLife is how long the owner's first token lives. Defaults to 24 hours.
	TokenLife time.Duration
}

// Founded is a new workspace with the first credentials, which are shown once.
type Founded struct {
	Workspace *ent.Workspace
	Owner     *ent.User
	Key       Minted
	// Token is a user token of the owner; empty without a master key.
	Token string
}

// CreateWorkspace makes a workspace, its owner and its first API key in one transaction.
func (i *Identity) CreateWorkspace(ctx context.Context, in NewWorkspace) (Founded, error) {
	plan := DefaultPlan()
	if in.Plan != nil {
		plan = *in.Plan
	}
	if in.TokenLife == 0 {
		in.TokenLife = 24 * time.Hour
	}
	name, err := text("name", in.Name, 1, 128)
	if err != nil {
		return Founded{}, err
	}
	if err := plan.validate(); err != nil {
		return Founded{}, err
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		return Founded{}, fmt.Errorf("write plan: %w", err)
	}
	var f Founded
	err = i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) (err error) {
		f.Workspace, err = tx.Workspace.Create().SetName(name).SetHipaa(in.HIPAA).SetPlan(raw).Save(ctx)
		if err != nil {
			return err
		}
		f.Owner, err = createUser(ctx, tx, NewUser{WorkspaceID: f.Workspace.ID, Email: in.OwnerEmail, Role: RoleOwner})
		if err != nil {
			return err
		}
		f.Key, err = mintKey(ctx, tx, f.Workspace.ID, NewKey{Name: "First key", CreatedBy: &f.Owner.ID})
		return err
	})
	if err != nil {
		return Founded{}, err
	}
	if i.signer == nil {
		return f, nil
	}
	f.Token, err = i.sign(f.Owner.ID, in.TokenLife)
	return f, err
}

// SetPlan replaces the plan of a workspace; calls in flight keep theirs. An unknown workspace is workspace_not_found.
func (i *Identity) SetPlan(ctx context.Context, id uuid.UUID, plan Plan) error {
	if err := plan.validate(); err != nil {
		return err
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.Workspace.Update().Where(workspace.ID(id)).SetPlan(raw).SetUpdatedAt(store.Now()).Save(ctx)
		if err == nil && n == 0 {
			return fault.Missing("workspace")
		}
		return err
	})
}
