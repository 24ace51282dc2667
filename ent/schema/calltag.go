package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// CallTag is a label of the workspace for calls.
type CallTag struct{ ent.Schema }

func (CallTag) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (CallTag) Fields() []ent.Field {
	return []ent.Field{
		field.String("name"),
		// The name folded for search in any script.
		field.String("name_fold"),
		// Empty: none. Not null, so that (emoji, name) is unique without one too.
		field.String("emoji").Default(""),
		// The person who made it; absent for API keys.
		field.UUID("created_by", uuid.UUID{}).Optional().Nillable().Immutable(),
	}
}

func (CallTag) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "name", "emoji").Unique(),
		index.Fields("workspace_id", "created_at", "id"),
	}
}
