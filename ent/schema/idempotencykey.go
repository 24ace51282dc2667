package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// IdempotencyKey keeps the first answer to a request for 24 hours (CONTRACT.md §1).
type IdempotencyKey struct{ ent.Schema }

func (IdempotencyKey) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (IdempotencyKey) Fields() []ent.Field {
	return []ent.Field{
		field.String("key").Immutable(),
		// RPC it was sent to.
		field.String("method").Immutable(),
		// SHA-256 of the request.
		field.Bytes("request_hash").Immutable(),
		// The response message; absent while the first request runs.
		field.Bytes("response").Optional(),
		field.Time("expires_at"),
	}
}

func (IdempotencyKey) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "key").Unique(),
		index.Fields("expires_at"),
	}
}
