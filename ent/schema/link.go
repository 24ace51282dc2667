package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Link is a link that works once: it lets somebody set up an installation, join a workspace or set a password. Only the
// SHA-256 of its token is kept; the row goes when it is used.
type Link struct{ ent.Schema }

func (Link) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}} }

func (Link) Fields() []ent.Field {
	return []ent.Field{
		// set_up, invite or reset.
		field.String("kind").Immutable(),
		field.Bytes("hash").Unique().Immutable().Sensitive(),
		// The workspace of an invite or reset; of a set-up only where there is one already.
		field.UUID("workspace_id", uuid.UUID{}).Optional().Nillable().Immutable(),
		// Whose password is reset.
		field.UUID("user_id", uuid.UUID{}).Optional().Nillable().Immutable(),
		// Whom an invite is for, and what it lets them do.
		field.String("email").Default("").Immutable(),
		field.String("role").Default("").Immutable(),
		field.UUID("created_by", uuid.UUID{}).Optional().Nillable().Immutable(),
		field.Time("created_at").Immutable(),
		field.Time("expires_at").Immutable(),
	}
}

func (Link) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "kind", "created_at"), index.Fields("expires_at")}
}
