package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
)

// Workspace is a tenant: everything else belongs to one.
type Workspace struct{ ent.Schema }

func (Workspace) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}} }

func (Workspace) Fields() []ent.Field {
	return []ent.Field{
		field.String("name"),
		field.String("timezone").Default("UTC"),
		field.Bool("hipaa").Default(false),
		// The plan: limited, concurrent_calls, max_call_minutes, windows (identity.Plan).
		field.JSON("plan", json.RawMessage{}),
		// When and where it may call (policy.Rules); absent: the defaults.
		field.JSON("policy", json.RawMessage{}).Optional(),
	}
}
