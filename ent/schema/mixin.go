// Package schema describes the tables, one file per entity. It is the only hand-written part of ent/.
//
// A table that belongs to a workspace has the mixin [Owned]; internal/store scopes every query and mutation of it to the
// workspace of the context and refuses those without one. References between owned tables are composite foreign keys
// (workspace_id, …_id) written in the migrations, so that no row can point into another workspace; ent has no such keys,
// hence there are no ent edges between them.
package schema

import (
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"entgo.io/ent/schema/mixin"
	"github.com/google/uuid"
)

// NewID returns a UUIDv7: ids sort by the time they were made, which breaks ties of created_at.
func NewID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// Now is the one source of stored times: UTC in microseconds, which both databases keep exactly.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Identity gives a table its id.
type Identity struct{ mixin.Schema }

func (Identity) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Default(NewID).Immutable(),
	}
}

// Times gives a table created_at and updated_at. updated_at is set by rules, not by a hook: an update that changes
// nothing leaves it alone.
type Times struct{ mixin.Schema }

func (Times) Fields() []ent.Field {
	return []ent.Field{
		field.Time("created_at").Default(Now).Immutable(),
		field.Time("updated_at").Default(Now),
	}
}

// Owned marks a table whose rows belong to a workspace. (workspace_id, id) is unique so that composite foreign keys
// can point at it.
type Owned struct{ mixin.Schema }

func (Owned) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("workspace_id", uuid.UUID{}).Immutable(),
	}
}

func (Owned) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "id").Unique(),
	}
}
