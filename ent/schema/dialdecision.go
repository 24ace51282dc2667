package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// DialDecision records why a call was let through or not: one row before every outbound call, with its inputs.
type DialDecision struct{ ent.Schema }

func (DialDecision) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Owned{}} }

func (DialDecision) Fields() []ent.Field {
	return []ent.Field{
		// Foreign key (workspace_id, call_id), on delete cascade.
		field.UUID("call_id", uuid.UUID{}).Immutable(),
		field.Time("decided_at").Default(Now).Immutable(),
		field.Bool("allowed").Immutable(),
		// The ended_reason of a refused call: policy_do_not_call, policy_quiet_hours, …; empty when allowed.
		field.String("reason").Default("").Immutable(),
		// When a refused call would be allowed; absent: never.
		field.Time("next_allowed_at").Optional().Nillable().Immutable(),
		// What was looked at: zones, hours, lists, caps.
		field.JSON("inputs", json.RawMessage{}).Immutable(),
	}
}

func (DialDecision) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "call_id", "decided_at"),
	}
}
