package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// User is a person. It belongs to at most one workspace; without one its credentials resolve to nothing.
type User struct{ ent.Schema }

func (User) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}} }

func (User) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("workspace_id", uuid.UUID{}).Optional().Nillable(),
		// Lower case; absent for an owner made without an address.
		field.String("email").Optional().Nillable(),
		field.String("name").Default(""),
		// owner, admin, member or viewer.
		field.String("role").Default("owner"),
		field.String("password_hash").Optional().Nillable().Sensitive(),
		// Who vouches for the person at a sign-in without password: the OpenID provider and its name for them.
		field.String("oidc_issuer").Optional().Nillable(),
		field.String("oidc_subject").Optional().Nillable(),
	}
}

func (User) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "id").Unique(), // what belongs to a user refers to both
		index.Fields("workspace_id", "email").Unique(),
		index.Fields("email"),
		index.Fields("oidc_issuer", "oidc_subject").Unique(),
	}
}
