package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// PhoneNumber is a number of the workspace: inbound calls to it reach its agent, outbound calls of the agent leave by it.
type PhoneNumber struct{ ent.Schema }

func (PhoneNumber) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (PhoneNumber) Fields() []ent.Field {
	return []ent.Field{
		// E.164.
		field.String("number"),
		field.String("label").Optional().Nillable(),
		// Foreign key (workspace_id, agent_id).
		field.UUID("agent_id", uuid.UUID{}).Optional().Nillable(),
		field.Bool("inbound").Default(true),
		field.Bool("outbound").Default(true),
	}
}

func (PhoneNumber) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "number").Unique(),
		index.Fields("number"),
		index.Fields("workspace_id", "agent_id"),
		index.Fields("workspace_id", "created_at", "id"),
	}
}
