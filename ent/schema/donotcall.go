package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// DoNotCall is a number that the workspace never calls.
type DoNotCall struct{ ent.Schema }

func (DoNotCall) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (DoNotCall) Fields() []ent.Field {
	return []ent.Field{
		// E.164.
		field.String("phone").Immutable(),
		field.String("reason").Optional().Nillable(),
	}
}

func (DoNotCall) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "phone").Unique(),
		index.Fields("workspace_id", "created_at", "id"),
	}
}
