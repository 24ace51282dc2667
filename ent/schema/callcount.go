package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// CallCount keeps how many calls a workspace has: a list's unfiltered total is read here, not counted. Placing a call
// updates the row first, which also makes admissions of one workspace wait for each other.
type CallCount struct{ ent.Schema }

func (CallCount) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Owned{}} }

func (CallCount) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("total").Default(0),
		// Of these, test conversations.
		field.Int64("test").Default(0),
	}
}

func (CallCount) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id").Unique()}
}
