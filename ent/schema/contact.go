package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
)

// Contact is a person the workspace calls. Several may share a phone.
type Contact struct{ ent.Schema }

func (Contact) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (Contact) Fields() []ent.Field {
	return []ent.Field{
		field.String("first_name").Optional().Nillable(),
		field.String("last_name").Optional().Nillable(),
		// E.164.
		field.String("phone"),
		field.String("email").Optional().Nillable(),
		field.String("additional_notes").Optional().Nillable(),
		// active, archived or do_not_call.
		field.String("status").Default("active"),
		// JSON object: values by key of the workspace's custom fields.
		field.JSON("custom_fields", json.RawMessage{}).Default(json.RawMessage("{}")),
	}
}

func (Contact) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "phone", "created_at", "id"),
		index.Fields("workspace_id", "created_at", "id"),
	}
}
