package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// ToolAccess is a question that an assistant asked the tool server. Rows are only added.
type ToolAccess struct{ ent.Schema }

func (ToolAccess) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Owned{}} }

func (ToolAccess) Fields() []ent.Field {
	return []ent.Field{
		field.Time("created_at").Immutable(),
		// Who asked: one of the two. Not foreign keys: the entry outlives key and user.
		field.UUID("key_id", uuid.UUID{}).Optional().Nillable().Immutable(),
		field.UUID("user_id", uuid.UUID{}).Optional().Nillable().Immutable(),
		field.String("tool").Immutable(),
		// The agent or call that was asked for; empty for lists.
		field.String("subject").Default("").Immutable(),
		field.String("address").Default("").Immutable(),
	}
}

func (ToolAccess) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at", "id")}
}
