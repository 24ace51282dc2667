package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Pairing is an assistant that asked for a key. It belongs to no workspace until somebody approves it for theirs. Nothing
// of the prefill is here, and of the device code only the SHA-256.
type Pairing struct{ ent.Schema }

func (Pairing) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}} }

func (Pairing) Fields() []ent.Field {
	return []ent.Field{
		field.Bytes("device_hash").Unique().Immutable().Sensitive(),
		// Without its hyphen.
		field.String("user_code").Unique().Immutable().Sensitive(),
		field.String("client_name").Immutable(),
		// Address that the client asked from.
		field.String("address").Immutable(),
		field.Time("created_at").Immutable(),
		field.Time("expires_at").Immutable(),
		// pending, approved, completed, denied or expired.
		field.String("state").Default("pending"),
		// Seconds between polls; grows with polls that come too fast.
		field.Int("interval"),
		field.Time("polled_at").Optional().Nillable(),
		field.UUID("workspace_id", uuid.UUID{}).Optional().Nillable(),
		field.UUID("decided_by", uuid.UUID{}).Optional().Nillable(),
		// The key of the last claim; the time is that of the first.
		field.UUID("key_id", uuid.UUID{}).Optional().Nillable(),
		field.Time("claimed_at").Optional().Nillable(),
	}
}

func (Pairing) Indexes() []ent.Index {
	return []ent.Index{index.Fields("expires_at")}
}
