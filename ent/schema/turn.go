package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Turn is something said or done in a call. Rows are written while the call runs, so that a crash keeps what was said.
type Turn struct{ ent.Schema }

func (Turn) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Owned{}} }

func (Turn) Fields() []ent.Field {
	return []ent.Field{
		// Foreign key (workspace_id, call_id), on delete cascade.
		field.UUID("call_id", uuid.UUID{}).Immutable(),
		// Position in the call, from 0.
		field.Int("seq").Immutable(),
		// agent, user, function_call or function_result.
		field.String("role").Immutable(),
		field.String("content"),
		// Milliseconds after the answer.
		field.Int("start_ms"),
		field.Int("end_ms"),
		field.Bool("interrupted").Default(false),
		// Measured times of an agent's turn (call.TurnTiming).
		field.JSON("timing", json.RawMessage{}).Optional(),
	}
}

func (Turn) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "call_id", "seq").Unique()}
}
