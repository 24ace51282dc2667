package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Delivery is one post of a call to a webhook action, with its attempts.
type Delivery struct{ ent.Schema }

func (Delivery) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (Delivery) Fields() []ent.Field {
	return []ent.Field{
		// Foreign key (workspace_id, call_id), on delete cascade.
		field.UUID("call_id", uuid.UUID{}).Immutable(),
		// Not a foreign key: the log outlives the action.
		field.UUID("action_id", uuid.UUID{}).Immutable(),
		// The receiver as it was at the last attempt, without its query.
		field.String("url").Default(""),
		// The receiver's scheme, host and port: what is limited and judged as one endpoint.
		field.String("endpoint").Default(""),
		// pending, delivered or abandoned.
		field.String("status").Default("pending"),
		// Attempts begun; written before the post leaves, so that a crash counts as one.
		field.Int("attempt").Default(0),
		field.Time("next_attempt_at").Optional().Nillable(),
		// A process is posting; one that ran out belongs to a process that died.
		field.Time("lease_until").Optional().Nillable(),
		field.Time("delivered_at").Optional().Nillable(),
		// [{number, at, http_status, duration_ms, error, response}].
		field.JSON("attempts", json.RawMessage{}).Optional(),
		// What was said and concluded, sealed: only for a call whose content is not stored and an action that gets it all
		// the same, and only until it is delivered or abandoned.
		field.Bytes("content").Optional().Sensitive(),
	}
}

func (Delivery) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "call_id", "action_id").Unique(),
		index.Fields("workspace_id", "created_at", "id"),
		index.Fields("next_attempt_at").Annotations(entsql.IndexWhere("status = 'pending'")).StorageKey("delivery_due"),
		index.Fields("endpoint", "lease_until").Annotations(entsql.IndexWhere("lease_until IS NOT NULL")).StorageKey("delivery_running"),
	}
}
