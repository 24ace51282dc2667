package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Campaign is an agent calling many contacts, step by step.
type Campaign struct{ ent.Schema }

func (Campaign) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (Campaign) Fields() []ent.Field {
	return []ent.Field{
		field.String("name"),
		// Not a foreign key: an agent that is gone pauses the campaign.
		field.UUID("agent_id", uuid.UUID{}).Optional().Nillable(),
		// draft, running, paused, completed or stopped.
		field.String("status").Default("draft"),
		// [{type, message, minutes}] (campaign.Step).
		field.JSON("steps", json.RawMessage{}),
		// campaign.Schedule.
		field.JSON("schedule", json.RawMessage{}),
		// Why the service paused it.
		field.String("paused_reason").Optional().Nillable(),
		field.Time("started_at").Optional().Nillable(),
		field.Time("ended_at").Optional().Nillable(),
	}
}

func (Campaign) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "created_at", "id"),
		index.Fields("workspace_id", "agent_id"),
		index.Fields("status").Annotations(entsql.IndexWhere("status = 'running'")).StorageKey("campaign_running"),
	}
}
