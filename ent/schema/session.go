package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Session is a person who is signed in. Only the SHA-256 of its token is kept.
type Session struct{ ent.Schema }

func (Session) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Owned{}} }

func (Session) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("user_id", uuid.UUID{}).Immutable(),
		field.Bytes("hash").Unique().Immutable().Sensitive(),
		field.Time("created_at").Immutable(),
		// To some minutes.
		field.Time("used_at"),
		field.Time("expires_at").Immutable(),
	}
}

func (Session) Indexes() []ent.Index {
	return []ent.Index{index.Fields("user_id"), index.Fields("expires_at")}
}
