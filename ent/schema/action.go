package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Action is what an agent's calls set off when they have ended. Which fields count depends on the type.
type Action struct{ ent.Schema }

func (Action) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (Action) Fields() []ent.Field {
	return []ent.Field{
		// Foreign key (workspace_id, agent_id), on delete cascade.
		field.UUID("agent_id", uuid.UUID{}).Immutable(),
		// webhook, summary, success_check or extract_data.
		field.String("type").Immutable(),
		field.String("name"),
		// Slug of the first name: stable over renames, unique among the agent's actions of its type.
		field.String("key").Immutable(),
		field.String("url").Default(""),
		// webhook: header names and values as JSON, sealed.
		field.Bytes("headers").Optional().Sensitive(),
		// webhook: the names alone, to show.
		field.Strings("header_names").Optional(),
		field.Bool("include_phi").Default(false),
		field.String("prompt").Default(""),
		field.String("icon").Default(""),
		field.String("criteria").Default(""),
		field.String("format").Default(""),
		field.String("description").Default(""),
	}
}

func (Action) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "agent_id", "type", "key").Unique(),
		index.Fields("workspace_id", "agent_id", "created_at", "id"),
	}
}
