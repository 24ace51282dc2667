package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// CallSpan keeps how many calls began to count for a plan's windows within a minute or an hour, and the seconds of those
// that have ended, so that a window is added up and not counted. Triggers of the database keep it with every change of a
// call; nothing else writes counts.
type CallSpan struct{ ent.Schema }

func (CallSpan) Mixin() []ent.Mixin { return []ent.Mixin{Owned{}} }

func (CallSpan) Fields() []ent.Field {
	return []ent.Field{
		field.Int("id").Immutable(),
		// How long it is, in seconds: 60 or 3600.
		field.Int("length").Immutable(),
		// When it begins, UTC.
		field.Time("start").Immutable(),
		field.Int64("calls"),
		field.Int64("seconds"),
	}
}

func (CallSpan) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "length", "start").Unique()}
}
