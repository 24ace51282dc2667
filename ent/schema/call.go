package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// Call is the record of a call, from the request to its end.
type Call struct{ ent.Schema }

func (Call) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (Call) Fields() []ent.Field {
	return []ent.Field{
		// outbound or inbound.
		field.String("direction").Immutable(),
		// One of call.Status.
		field.String("status"),
		field.String("to_number"),
		field.String("from_number"),
		// History, not a foreign key: the agent may be gone.
		field.UUID("agent_id", uuid.UUID{}).Optional().Nillable(),
		field.UUID("contact_id", uuid.UUID{}).Optional().Nillable(),
		field.UUID("campaign_id", uuid.UUID{}).Optional().Nillable(),
		// The campaign's enrollment that this call belongs to.
		field.UUID("enrollment_id", uuid.UUID{}).Optional().Nillable(),
		// A test conversation on the sandbox carrier.
		field.Bool("test").Default(false),
		// Seconds from answer to end.
		field.Int("duration").Optional().Nillable(),
		// JSON object of the API's caller, as the text that came in: jsonb would reorder it.
		field.String("metadata").DefaultFunc(func() string { return "{}" }).
			SchemaType(map[string]string{dialect.Postgres: "json", dialect.SQLite: "json"}),
		// Per-call variables as text; absent when none were supplied.
		field.JSON("variables", map[string]string{}).Optional(),
		// human, voicemail or ivr.
		field.String("answered_by").Optional().Nillable(),
		// What answered_by was concluded from, for people.
		field.String("answered_by_reason").Optional().Nillable(),
		// Answer to the question whether the call may be recorded: given or refused; absent when nobody asked.
		field.String("recording_consent").Optional().Nillable(),
		field.String("ended_reason").Optional().Nillable(),
		field.String("ended_message").Optional().Nillable(),
		field.Time("retry_after").Optional().Nillable(),
		field.Time("schedule_time").Optional().Nillable(),
		// When it began to count for the plan's windows and to wait for a slot; absent before. Single and inbound calls: when
		// they were made.
		field.Time("queued_at").Optional().Nillable(),
		field.Time("dialed_at").Optional().Nillable(),
		field.Time("answered_at").Optional().Nillable(),
		field.Time("ended_at").Optional().Nillable(),
		// A process holds the call: it renews lease_until; a lease that ran out belongs to a process that died.
		field.Bool("in_flight").Default(false),
		field.String("lease_owner").Default(""),
		field.Time("lease_until").Optional().Nillable(),
		// Somebody asked to end it; the process that holds the call hangs up.
		field.Bool("cancel_requested").Default(false),
		// What the carrier needs to end the leg after a crash.
		field.JSON("leg", json.RawMessage{}).Optional(),
		// Key in the recordings bucket, set when recording begins; recording_size once it can be fetched.
		field.String("recording_key").Optional().Nillable(),
		field.Int64("recording_size").Optional().Nillable(),
		field.Time("recorded_at").Optional().Nillable(),
		// When what was said, concluded and recorded is deleted; absent: never by itself.
		field.Time("keep_until").Optional().Nillable(),
		// When it was deleted, and why: hipaa or retention. The record itself stays.
		field.Time("erased_at").Optional().Nillable(),
		field.String("erased_for").Optional().Nillable(),
		// Measured times of the conversation (call.Latency).
		field.JSON("latency", json.RawMessage{}).Optional(),
	}
}

func (Call) Indexes() []ent.Index {
	return []ent.Index{
		// All calls in order, with what the tool server filters by: counts and pages of any combination read this alone.
		index.Fields("workspace_id", "created_at", "id", "test", "status", "direction", "answered_by", "duration", "from_number",
			"agent_id", "campaign_id").StorageKey("call_find"),
		index.Fields("workspace_id", "contact_id", "created_at", "id").Annotations(entsql.IndexWhere("contact_id IS NOT NULL")).StorageKey("call_contact"),
		index.Fields("workspace_id", "status", "created_at"),
		index.Fields("workspace_id", "agent_id", "created_at"),
		index.Fields("workspace_id", "to_number", "created_at", "id"),
		index.Fields("lease_until").Annotations(entsql.IndexWhere("in_flight")),
		index.Fields("workspace_id", "lease_until").Annotations(entsql.IndexWhere("in_flight")).StorageKey("call_in_flight"),
		// With the id, so that SQLite does not prefer the order of the index of all calls.
		index.Fields("workspace_id", "queued_at", "id").Annotations(entsql.IndexWhere("status = 'queued'")).StorageKey("call_queued"),
		// A campaign's calls: those that wait, and lists.
		index.Fields("workspace_id", "campaign_id", "status").Annotations(entsql.IndexWhere("campaign_id IS NOT NULL")).StorageKey("call_campaign"),
		// Calls whose content is still there: what erasing looks through.
		index.Fields("keep_until").Annotations(entsql.IndexWhere("erased_at IS NULL AND keep_until IS NOT NULL")).StorageKey("call_keep_until"),
		index.Fields("workspace_id", "agent_id", "created_at").Annotations(entsql.IndexWhere("erased_at IS NULL")).StorageKey("call_unerased"),
		// What the plan's windows are counted from, without reading rows.
		index.Fields("workspace_id", "queued_at", "status", "dialed_at", "duration", "agent_id").StorageKey("call_usage"),
		index.Fields("workspace_id", "agent_id", "queued_at").StorageKey("call_agent_usage"),
	}
}
