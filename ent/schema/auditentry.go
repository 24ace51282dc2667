package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// AuditEntry is something that happened to the people and keys of a workspace. Rows are only added.
type AuditEntry struct{ ent.Schema }

func (AuditEntry) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Owned{}} }

func (AuditEntry) Fields() []ent.Field {
	return []ent.Field{
		field.Time("created_at").Immutable(),
		field.String("action").Immutable(),
		field.UUID("user_id", uuid.UUID{}).Optional().Nillable().Immutable(),
		// Who it was, as they were called then: the entry outlives the user.
		field.String("actor").Default("").Immutable(),
		field.String("subject").Default("").Immutable(),
		field.String("detail").Default("").Immutable(),
		field.String("address").Default("").Immutable(),
	}
}

func (AuditEntry) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at", "id")}
}
