package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Agent is a voice agent. What lists filter and sort by are columns; everything else is agent.Settings in one document.
type Agent struct{ ent.Schema }

func (Agent) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (Agent) Fields() []ent.Field {
	return []ent.Field{
		field.String("name"),
		// The name folded for search in any script: PostgreSQL and SQLite fold differently, Go folds once.
		field.String("name_fold"),
		field.String("status").Default("active"),
		field.String("modality").Default("voice"),
		field.String("language").Default("en"),
		field.JSON("settings", json.RawMessage{}),
	}
}

func (Agent) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "created_at", "id"),
		index.Fields("workspace_id", "name", "id"),
	}
}
