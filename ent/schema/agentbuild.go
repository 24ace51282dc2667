package schema

import (
	"encoding/json"

	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"
)

// AgentBuild is a job of the agent builder: from a website's address and instructions to an agent. Each step writes its
// result before the next begins, so that a crash runs one step again.
type AgentBuild struct{ ent.Schema }

func (AgentBuild) Mixin() []ent.Mixin { return []ent.Mixin{Identity{}, Times{}, Owned{}} }

func (AgentBuild) Fields() []ent.Field {
	return []ent.Field{
		// As submitted; at least one of them is not empty.
		field.String("website_url").Default("").Immutable(),
		field.String("instructions").Default("").Immutable(),
		// queued, processing, completed or failed.
		field.String("status").Default("queued"),
		// What is being done, or where it failed: read or write; empty before.
		field.String("step").Default(""),
		field.Int("pages_found").Default(0),
		field.Int("pages_read").Default(0),
		// What was read: [{url, title, markdown}] and the like, kept for the writing step and for the owner.
		field.JSON("pages", json.RawMessage{}).Optional(),
		// The agent, history and not a foreign key: it may be deleted. Its id is chosen with the job, so that a second run
		// of the last step can not make a second agent.
		field.UUID("agent_id", uuid.UUID{}).Optional().Nillable(),
		// Who wrote it: a model's name, or builtin.
		field.String("writer").Default(""),
		// What people should know of a completed job, such as why no model wrote it.
		field.String("note").Default(""),
		// A stable word and a sentence to act on; both empty unless failed.
		field.String("error_code").Default(""),
		field.String("error").Default(""),
		field.Time("finished_at").Optional().Nillable(),
	}
}

func (AgentBuild) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at", "id")}
}
