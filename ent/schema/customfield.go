package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// CustomField defines a field that the workspace's contacts may have.
type CustomField struct{ ent.Schema }

func (CustomField) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (CustomField) Fields() []ent.Field {
	return []ent.Field{
		field.String("key").Immutable(),
		field.String("label"),
		// text, number, boolean, date, select, multi_select, url or email.
		field.String("type").Immutable(),
		field.Strings("options").Optional(),
		// 0: the type's own bound.
		field.Int("max_length").Default(0),
		field.Bool("archived").Default(false),
	}
}

func (CustomField) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "key").Unique(),
		index.Fields("workspace_id", "created_at", "id"),
	}
}
