// Package agent keeps the voice agents of a workspace and its telephone numbers, and writes the texts that an agent
// speaks by: its prompt, and templates with a call's values filled in.
//
// An agent's fields are [Settings]: checked by one table of rules when they come in, kept as one document beside the
// columns that lists filter and sort by. A free text without a character is no value.
//
// Lock order: the agent's row, then the phone numbers that name it. Who makes a number refer to an agent takes the
// agent's row by the foreign key; who deletes the agent locks the row first, so no reference is ever left behind.
package agent

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/agent"
	"github.com/callwright/callwright/ent/phonenumber"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Create makes an agent. Only its name is required.
func Create(ctx context.Context, db *store.DB, in Settings) (*ent.Agent, error) {
	return create(ctx, db.Ent(), store.NewID(), in)
}

// CreateAs is Create in the caller's transaction, with an id that was chosen beforehand: a job that runs twice can not make
// a second agent.
func CreateAs(ctx context.Context, tx *store.Tx, id uuid.UUID, in Settings) (*ent.Agent, error) {
	return create(ctx, tx.Client, id, in)
}

func create(ctx context.Context, c *ent.Client, id uuid.UUID, in Settings) (*ent.Agent, error) {
	s, err := in.validate()
	if err != nil {
		return nil, err
	}
	if s.Name == nil {
		return nil, fault.Invalidf("name is required")
	}
	doc, err := s.document()
	if err != nil {
		return nil, err
	}
	now := store.Now()
	return c.Agent.Create().SetID(id).
		SetName(*s.Name).SetNameFold(store.Fold(*s.Name)).
		SetNillableStatus(s.Status).SetNillableModality(s.Modality).SetNillableLanguage(s.Language).
		SetSettings(doc).SetCreatedAt(now).SetUpdatedAt(now).Save(ctx)
}

// Get reads an agent of the workspace; agent_not_found when it has none with this id.
func Get(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.Agent, error) {
	return found(c.Agent.Query().Where(agent.ID(id)).Only(ctx))
}

func found(a *ent.Agent, err error) (*ent.Agent, error) {
	if ent.IsNotFound(err) {
		return nil, fault.Missing("agent")
	}
	return a, err
}

// Update changes the fields that in has and takes the values of those in clear away; status, modality and language then
// are what they are by default, and the name can not be taken away. An update that changes nothing leaves updated_at as
// it is.
func Update(ctx context.Context, db *store.DB, id uuid.UUID, in Settings, clear []string) (*ent.Agent, error) {
	in, err := in.cleared(clear)
	if err != nil {
		return nil, err
	}
	var a *ent.Agent
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		a, err = found(tx.Agent.Query().Where(agent.ID(id), store.ForUpdate).Only(ctx))
		if err != nil {
			return err
		}
		old, err := SettingsOf(a)
		if err != nil {
			return err
		}
		s, err := in.over(old).without(clear).validate()
		if err != nil || reflect.DeepEqual(s, old) {
			return err
		}
		doc, err := s.document()
		if err != nil {
			return err
		}
		a, err = tx.Agent.UpdateOne(a).
			SetName(*s.Name).SetNameFold(store.Fold(*s.Name)).
			SetStatus(or(s.Status, agent.DefaultStatus)).SetModality(or(s.Modality, agent.DefaultModality)).
			SetLanguage(or(s.Language, agent.DefaultLanguage)).
			SetSettings(doc).SetUpdatedAt(store.Now()).Save(ctx)
		return err
	})
	return a, err
}

// own are the fields of the API's message that are given by the service: taking them away is ignored like setting them.
var own = []string{"id", "workspace_id", "created_at", "updated_at"}

// cleared checks what an update sends: its values, and that the names to clear are fields that can be cleared.
func (s Settings) cleared(clear []string) (Settings, error) {
	v := reflect.ValueOf(s)
	for _, name := range clear {
		i, known := fields[name]
		switch {
		case slices.Contains(own, name):
		case !known:
			return s, fault.Invalidf("clear: there is no field %q", name)
		case name == "name":
			return s, fault.Invalidf("name can not be taken away")
		case !v.Field(i).IsNil():
			return s, fault.Invalidf("%s is both set and cleared", name)
		}
	}
	return s, nil
}

func (s Settings) without(clear []string) Settings {
	v := reflect.ValueOf(&s).Elem()
	for _, name := range clear {
		if i, ok := fields[name]; ok {
			v.Field(i).SetZero()
		}
	}
	return s
}

func or(text *string, otherwise string) string {
	if text == nil {
		return otherwise
	}
	return *text
}

// Delete removes an agent. Its calls stay; its phone numbers stay without an agent.
func Delete(ctx context.Context, db *store.DB, id uuid.UUID) error {
	return db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		a, err := found(tx.Agent.Query().Where(agent.ID(id), store.ForUpdate).Only(ctx))
		if err != nil {
			return err
		}
		err = tx.PhoneNumber.Update().Where(phonenumber.AgentID(id)).ClearAgentID().SetUpdatedAt(store.Now()).Exec(ctx)
		if err != nil {
			return err
		}
		return tx.Agent.DeleteOne(a).Exec(ctx)
	})
}

// Query selects a page of agents. The zero value is the first page of all, newest first.
type Query struct {
	// Offset is how many rows to skip, 0 or more.
	Offset int
	// Limit is how many to return, 1 or more; more than 200 count as 200. Defaults to 50.
	Limit *int
	// Q is part of the name in any case, up to 100 characters; % and _ are literal.
	Q string
	// Status, Modality and Language are exact but for upper and lower case; unknown ones match nothing.
	Status, Modality, Language string
	// Sort is one of created_at:desc, created_at:asc, name:asc, name:desc. Defaults to created_at:desc.
	Sort string
}

// Page is what a list returns.
type Page struct {
	Agents []*ent.Agent
	// Offset and Limit are as they were applied.
	Offset, Limit int
	// Total counts what matches, ignoring paging.
	Total int
}

// List returns a page of the workspace's agents.
func List(ctx context.Context, c *ent.Client, q Query) (Page, error) {
	p := Page{Offset: q.Offset}
	var err error
	if p.Limit, err = store.Limit(q.Offset, q.Limit); err != nil {
		return p, err
	}
	order, ok := sorts[q.Sort]
	if !ok {
		return p, fault.Invalidf("sort must be one of created_at:desc, created_at:asc, name:asc, name:desc")
	}
	if err := checkText(q.Q, 100); err != nil {
		return p, fault.Invalidf("q %s", err)
	}
	matching := c.Agent.Query()
	if q.Q != "" {
		matching.Where(agent.NameFoldContains(store.Fold(q.Q)))
	}
	for _, f := range []struct{ column, text string }{
		{agent.FieldStatus, q.Status}, {agent.FieldModality, q.Modality}, {agent.FieldLanguage, q.Language},
	} {
		if f.text == "" {
			continue
		}
		if err := checkText(f.text, 64); err != nil {
			return p, fault.Invalidf("%s %s", f.column, err)
		}
		matching.Where(sql.FieldEqualFold(f.column, f.text))
	}
	p.Agents, err = matching.Clone().Order(order...).Offset(q.Offset).Limit(p.Limit).All(ctx)
	if err != nil {
		return p, fmt.Errorf("list agents: %w", err)
	}
	p.Total, err = store.Total(ctx, q.Offset, p.Limit, len(p.Agents), matching.Count)
	return p, err
}

var sorts = map[string][]agent.OrderOption{
	"":                {agent.ByCreatedAt(sql.OrderDesc()), agent.ByID(sql.OrderDesc())},
	"created_at:desc": {agent.ByCreatedAt(sql.OrderDesc()), agent.ByID(sql.OrderDesc())},
	"created_at:asc":  {agent.ByCreatedAt(), agent.ByID()},
	"name:asc":        {store.OrderText(agent.FieldName, false), agent.ByID()},
	"name:desc":       {store.OrderText(agent.FieldName, true), agent.ByID(sql.OrderDesc())},
}
