package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Tally counts once for something that may not happen too often: wrong codes, wrong passwords, starts of pairings.
type Tally struct{ ent.Schema }

func (Tally) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}} }

func (Tally) Fields() []ent.Field {
	return []ent.Field{
		field.String("kind").Immutable(),
		// The user, or a digest of the account that somebody tried.
		field.String("actor").Immutable(),
		// Client address.
		field.String("address").Immutable(),
		field.Time("at").Immutable(),
	}
}

func (Tally) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("kind", "actor", "at"),
		index.Fields("kind", "address", "at"),
		index.Fields("at"),
	}
}
