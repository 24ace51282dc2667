package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/workspace"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/policy"
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
	if in.TokenLife == 0 {
		in.TokenLife = 24 * time.Hour
	}
	var f Founded
	err := i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) (err error) {
		f.Workspace, err = foundWorkspace(ctx, tx, in)
		if err != nil {
			return err
		}
		f.Owner, err = createUser(ctx, tx, NewUser{WorkspaceID: f.Workspace.ID, Email: in.OwnerEmail, Role: RoleOwner})
		if err != nil {
			return err
		}
		f.Key, err = mintKey(ctx, tx, f.Workspace.ID, NewKey{Name: "First key", CreatedBy: &f.Owner.ID})
		if err != nil {
			return err
		}
		return i.note(ctx, tx, f.Workspace.ID, event{Action: "key_created", Subject: f.Key.Row.Name, Detail: f.Key.Row.Source})
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

// foundWorkspace makes the row of a workspace.
func foundWorkspace(ctx context.Context, tx *store.Tx, in NewWorkspace) (*ent.Workspace, error) {
	plan := DefaultPlan()
	if in.Plan != nil {
		plan = *in.Plan
	}
	name, err := text("name", in.Name, 1, 128)
	if err != nil {
		return nil, err
	}
	if err := plan.validate(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(plan)
	if err != nil {
		return nil, fmt.Errorf("write plan: %w", err)
	}
	return tx.Workspace.Create().SetName(name).SetHipaa(in.HIPAA).SetPlan(raw).Save(ctx)
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

// WorkspaceChange is what a workspace's own people and keys may change; nil leaves as it is.
type WorkspaceChange struct {
	// Name has 1 to 128 characters.
	Name *string
	// Timezone is an IANA zone.
	Timezone *string
	// HIPAA may be changed only by a person who administers.
	HIPAA *bool
	// Policy replaces all of it.
	Policy *policy.Rules
}

// GetWorkspace reads the context's workspace.
func GetWorkspace(ctx context.Context, c *ent.Client) (*ent.Workspace, error) {
	id, ok := store.Workspace(ctx)
	if !ok {
		return nil, store.ErrNoWorkspace
	}
	w, err := c.Workspace.Query().Where(workspace.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("workspace")
	}
	return w, err
}

// UpdateWorkspace changes the context's workspace: of people, owners and admins may; a key that may write may change all
// but HIPAA. clear names fields whose value is taken away, of which policy alone
// may be. Errors: validation_failed, forbidden.
func (i *Identity) UpdateWorkspace(ctx context.Context, in WorkspaceChange, clear []string) (w *ent.Workspace, err error) {
	if p, ok := From(ctx); ok && p.UserID != nil {
		if _, err := administrator(ctx); err != nil {
			return nil, err
		}
	}
	rules, err := in.check(ctx, clear)
	if err != nil {
		return nil, err
	}
	err = i.db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if w, err = GetWorkspace(ctx, tx.Client); err != nil {
			return err
		}
		up := tx.Workspace.UpdateOne(w).SetNillableName(in.Name).SetNillableTimezone(in.Timezone).SetNillableHipaa(in.HIPAA).
			SetUpdatedAt(store.Now())
		if rules != nil {
			up.SetPolicy(rules)
		} else if slices.Contains(clear, "policy") {
			up.ClearPolicy()
		}
		hipaa := w.Hipaa
		if w, err = up.Save(ctx); err != nil || w.Hipaa == hipaa {
			return err
		}
		return i.note(ctx, tx, w.ID, event{Action: "workspace_changed", Subject: w.Name, Detail: fmt.Sprintf("hipaa: %t", w.Hipaa)})
	})
	return w, err
}

// check trims and checks a change, and returns the stored form of its policy.
func (in *WorkspaceChange) check(ctx context.Context, clear []string) (rules json.RawMessage, err error) {
	for _, name := range clear {
		if name != "policy" {
			return nil, fault.Invalidf("%s can not be taken away", name)
		}
	}
	if in.Name != nil {
		name, err := text("name", *in.Name, 1, 128)
		if err != nil {
			return nil, err
		}
		in.Name = &name
	}
	if in.Timezone != nil {
		if _, err := time.LoadLocation(*in.Timezone); err != nil || *in.Timezone == "" || *in.Timezone == "Local" {
			return nil, fault.Invalidf("timezone must be an IANA time zone such as America/Chicago")
		}
	}
	if in.HIPAA != nil {
		if _, err := administrator(ctx); err != nil {
			return nil, err
		}
	}
	if in.Policy == nil {
		return nil, nil
	}
	checked, err := in.Policy.Checked()
	if err != nil {
		return nil, err
	}
	return json.Marshal(checked)
}

// HIPAAWorkspaces are the workspaces that keep no content of their calls. ctx is store.System's.
func HIPAAWorkspaces(ctx context.Context, c *ent.Client) ([]uuid.UUID, error) {
	ids, err := c.Workspace.Query().Where(workspace.Hipaa(true)).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list HIPAA workspaces: %w", err)
	}
	return ids, nil
}
