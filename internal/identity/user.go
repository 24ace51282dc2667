package identity

import (
	"context"
	"net/mail"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// NewUser is what a user is made of.
type NewUser struct {
	WorkspaceID uuid.UUID
	// Email is kept in lower case and is unique in the workspace; may be empty.
	Email string
	// Name has at most 128 characters.
	Name string
	// Role is one of the roles. Defaults to member.
	Role string
}

var (
	errRole   = fault.Invalidf("role must be owner, admin, member or viewer")
	errMember = fault.New(fault.Exists, "already_exists", "a user with this email address is in the workspace already")
)

// CreateUser adds a user to a workspace. An address that the workspace has already is already_exists, an unknown
// workspace workspace_not_found.
func (i *Identity) CreateUser(ctx context.Context, in NewUser) (*ent.User, error) {
	var u *ent.User
	err := i.db.InTx(store.System(ctx), func(ctx context.Context, tx *store.Tx) (err error) {
		if _, err = PlanOf(ctx, tx.Client, in.WorkspaceID); err != nil {
			return err
		}
		u, err = createUser(ctx, tx, in)
		return err
	})
	return u, err
}

func createUser(ctx context.Context, tx *store.Tx, in NewUser) (*ent.User, error) {
	if in.Role == "" {
		in.Role = RoleMember
	}
	if roles[in.Role] == nil {
		return nil, errRole
	}
	name, err := text("name", in.Name, 0, 128)
	if err != nil {
		return nil, err
	}
	email, err := address(in.Email)
	if err != nil {
		return nil, err
	}
	u, err := tx.User.Create().
		SetWorkspaceID(in.WorkspaceID).
		SetNillableEmail(email).
		SetName(name).
		SetRole(in.Role).
		Save(ctx)
	if store.IsUnique(err) {
		return nil, errMember
	}
	return u, err
}

// address reads an email address; nil for none.
func address(email string) (*string, error) {
	email, err := text("email", email, 0, 254)
	if err != nil || email == "" {
		return nil, err
	}
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email {
		return nil, fault.Invalidf("email must be an address such as ana@example.com")
	}
	email = strings.ToLower(email)
	return &email, nil
}

// text trims a value and checks its length in code points (CONTRACT.md §1, Strings).
func text(field, value string, low, high int) (string, error) {
	if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
		return "", fault.Invalidf("%s holds a NUL or is not UTF-8", field)
	}
	value = strings.TrimSpace(value)
	n := utf8.RuneCountInString(value)
	switch {
	case n < low:
		return "", fault.Invalidf("%s must not be empty", field)
	case n > high:
		return "", fault.Invalidf("%s must have at most %d characters", field, high)
	}
	return value, nil
}
