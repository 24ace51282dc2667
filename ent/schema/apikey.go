package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// APIKey is a credential of a workspace. Only the SHA-256 of the key is kept.
type APIKey struct{ ent.Schema }

func (APIKey) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (APIKey) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").Default(""),
		field.Bytes("hash").Unique().Immutable().Sensitive(),
		// The last four characters, to recognise it by.
		field.String("hint"),
		// read, write, mcp.
		field.Strings("scopes"),
		// Where it came from: "command", "portal" or "pairing".
		field.String("source").Default("command"),
		field.UUID("created_by", uuid.UUID{}).Optional().Nillable(),
		field.Time("last_used_at").Optional().Nillable(),
	}
}

func (APIKey) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at")}
}
