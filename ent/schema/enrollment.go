package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Enrollment is a contact in a campaign, and where it stands.
type Enrollment struct{ ent.Schema }

func (Enrollment) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (Enrollment) Fields() []ent.Field {
	return []ent.Field{
		// Foreign key (workspace_id, campaign_id), on delete cascade.
		field.UUID("campaign_id", uuid.UUID{}).Immutable(),
		// Foreign key (workspace_id, contact_id), on delete cascade.
		field.UUID("contact_id", uuid.UUID{}).Immutable(),
		// pending, active, waiting, completed, failed, blocked, skipped or stopped.
		field.String("status").Default("pending"),
		// Position of the step it is at, from 0.
		field.Int("step").Default(0),
		// Calls made in this step.
		field.Int("attempts").Default(0),
		field.JSON("variables", map[string]string{}).Optional(),
		// The call under way; its end moves the enrollment on.
		field.UUID("call_id", uuid.UUID{}).Optional().Nillable(),
		field.Time("next_attempt_at").Optional().Nillable(),
	}
}

func (Enrollment) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "campaign_id", "contact_id").Unique(),
		index.Fields("workspace_id", "campaign_id", "created_at", "id"),
		index.Fields("workspace_id", "campaign_id", "status"),
		index.Fields("workspace_id", "contact_id"),
		index.Fields("workspace_id", "call_id"),
		// Few: those whose call is under way.
		index.Fields("workspace_id", "campaign_id").Annotations(entsql.IndexWhere("status = 'active'")).StorageKey("enrollment_active"),
		index.Fields("campaign_id", "next_attempt_at").Annotations(entsql.IndexWhere("next_attempt_at IS NOT NULL")).StorageKey("enrollment_due"),
	}
}
