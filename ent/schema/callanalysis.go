package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// CallAnalysis is what was concluded after a call.
type CallAnalysis struct{ ent.Schema }

func (CallAnalysis) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (CallAnalysis) Fields() []ent.Field {
	return []ent.Field{
		// Foreign key (workspace_id, call_id), on delete cascade.
		field.UUID("call_id", uuid.UUID{}).Immutable(),
		// Foreign key (workspace_id, call_tag_id): the one tag of the call.
		field.UUID("call_tag_id", uuid.UUID{}).Optional().Nillable(),
		// Absent when generation failed or the call was too short.
		field.String("summary").Optional().Nillable(),
		// {action_id, name, content} of the summary action.
		field.JSON("personalized", json.RawMessage{}).Optional(),
		// Success checks: [{action_id, key, name, icon, matched}].
		field.JSON("checks", json.RawMessage{}).Optional(),
		// Extracted fields: [{action_id, key, name, format, value}].
		field.JSON("extracted", json.RawMessage{}).Optional(),
		// Who concluded it: the model's name, or "builtin".
		field.String("source").Default(""),
		// Why parts are missing, for people.
		field.String("problem").Default(""),
		// When it was finished; absent for a row that only carries a tag.
		field.Time("analyzed_at").Optional().Nillable(),
	}
}

func (CallAnalysis) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "call_id").Unique(),
		index.Fields("workspace_id", "call_tag_id"),
	}
}
