package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/gosimple/slug"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/action"
	"github.com/callwright/callwright/ent/agent"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
)

// What an action does. CONTRACT.md §3, /v1/agents/{id}/actions.
const (
	ActionWebhook      = "webhook"
	ActionSummary      = "summary"
	ActionSuccessCheck = "success_check"
	ActionExtractData  = "extract_data"
)

// Formats of extracted data.
var formats = []string{"text", "boolean", "number", "date"}

// maxHeaders is how many request headers a webhook may have.
const maxHeaders = 32

// Masked stands for a header value that is not shown. An update that sends it keeps the stored value.
const Masked = "•••"

// Action is what a request says of an action; nil is nothing.
type Action struct {
	// Required by CreateAction; does not change.
	Type                              string
	Name, URL, Prompt, Icon, Criteria *string
	Format, Description               *string
	IncludePHI                        *bool
	// Names and values. An update replaces all of them.
	Headers map[string]string
	// Update only: names of fields whose value is taken away.
	Clear []string
}

// Actions keeps what agents' calls set off when they have ended.
type Actions struct {
	DB *store.DB
	// Key seals header values.
	Key secret.Key
	// Egress judges the addresses of webhooks.
	Egress *egress.Client
}

// Create adds an action to an agent. Errors: agent_not_found, validation_failed.
func (a Actions) Create(ctx context.Context, agentID uuid.UUID, in Action) (row *ent.Action, err error) {
	if !slices.Contains([]string{ActionWebhook, ActionSummary, ActionSuccessCheck, ActionExtractData}, in.Type) {
		return nil, fault.Invalidf("type must be webhook, summary, success_check or extract_data")
	}
	if in.Name == nil {
		return nil, fault.Invalidf("name is required")
	}
	if in.Type == ActionWebhook && in.URL == nil {
		return nil, fault.Invalidf("url is required")
	}
	if err := a.check(&in); err != nil {
		return nil, err
	}
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		// The agent's row keeps two actions of one name from choosing the same key.
		if _, err := lockAgent(ctx, tx, agentID); err != nil {
			return err
		}
		id := store.NewID()
		key, err := freeKey(ctx, tx, agentID, in.Type, *in.Name, id)
		if err != nil {
			return err
		}
		create := tx.Action.Create().SetID(id).SetAgentID(agentID).SetType(in.Type).SetName(*in.Name).SetKey(key).
			SetNillableURL(in.URL).SetNillablePrompt(in.Prompt).SetNillableIcon(in.Icon).
			SetNillableCriteria(in.Criteria).SetNillableFormat(in.Format).SetNillableDescription(in.Description).
			SetNillableIncludePhi(in.IncludePHI)
		if in.Type == ActionExtractData && in.Format == nil {
			create.SetFormat(formats[0])
		}
		if len(in.Headers) > 0 {
			workspace, _ := store.Workspace(ctx)
			create.SetHeaders(a.seal(workspace, id, in.Headers)).SetHeaderNames(sortedNames(in.Headers))
		}
		row, err = create.Save(ctx)
		return err
	})
	return row, err
}

// Get reads an action of an agent. Errors: agent_not_found, action_not_found.
func (a Actions) Get(ctx context.Context, agentID, id uuid.UUID) (*ent.Action, error) {
	if _, err := Get(ctx, a.DB.Ent(), agentID); err != nil {
		return nil, err
	}
	row, err := a.DB.Ent().Action.Query().Where(action.ID(id), action.AgentID(agentID)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("action")
	}
	return row, err
}

// List gives a page of an agent's actions, oldest first. Errors: agent_not_found, validation_failed.
func (a Actions) List(ctx context.Context, agentID uuid.UUID, offset int, limit *int) (store.Page[*ent.Action], error) {
	if _, err := Get(ctx, a.DB.Ent(), agentID); err != nil {
		return store.Page[*ent.Action]{}, err
	}
	all := a.DB.Ent().Action.Query().Where(action.AgentID(agentID))
	return store.ReadPage(ctx, offset, limit, func(ctx context.Context, offset, limit int) ([]*ent.Action, error) {
		return all.Clone().Order(action.ByCreatedAt(), action.ByID()).Offset(offset).Limit(limit).All(ctx)
	}, all.Count)
}

// ActionsOf are all actions of an agent, oldest first, for those who carry them out.
func ActionsOf(ctx context.Context, c *ent.Client, agentID uuid.UUID) ([]*ent.Action, error) {
	return c.Action.Query().Where(action.AgentID(agentID)).Order(action.ByCreatedAt(), action.ByID()).All(ctx)
}

// ActionByID reads an action whoever its agent is. Errors: action_not_found.
func ActionByID(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.Action, error) {
	row, err := c.Action.Query().Where(action.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("action")
	}
	return row, err
}

// Update changes the fields that the input has. Errors: agent_not_found, action_not_found, validation_failed.
func (a Actions) Update(ctx context.Context, agentID, id uuid.UUID, in Action) (row *ent.Action, err error) {
	err = a.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := lockAgent(ctx, tx, agentID); err != nil {
			return err
		}
		row, err = tx.Action.Query().Where(action.ID(id), action.AgentID(agentID)).Only(ctx)
		if ent.IsNotFound(err) {
			return fault.Missing("action")
		}
		if err != nil {
			return err
		}
		if in.Type != "" && in.Type != row.Type {
			return fault.Invalidf("type can not change; it is %s", row.Type)
		}
		changes := in
		changes.Type = row.Type
		if err := a.check(&changes); err != nil {
			return err
		}
		update, err := a.update(row, changes)
		if err != nil || len(update.Mutation().Fields()) == 0 && len(update.Mutation().ClearedFields()) == 0 {
			return err
		}
		row, err = update.SetUpdatedAt(store.Now()).Save(ctx)
		return err
	})
	return row, err
}

func (a Actions) update(row *ent.Action, in Action) (*ent.ActionUpdateOne, error) {
	u := row.Update().SetNillableName(in.Name).SetNillableURL(in.URL).SetNillablePrompt(in.Prompt).
		SetNillableIcon(in.Icon).SetNillableCriteria(in.Criteria).SetNillableFormat(in.Format).
		SetNillableDescription(in.Description).SetNillableIncludePhi(in.IncludePHI)
	if in.Headers != nil {
		headers, err := a.keepMasked(row, in.Headers)
		if err != nil {
			return nil, err
		}
		u.SetHeaders(a.seal(row.WorkspaceID, row.ID, headers)).SetHeaderNames(sortedNames(headers))
	}
	for _, field := range in.Clear {
		switch field {
		case "name", "type":
			return nil, fault.Invalidf("%s must not be null", field)
		case "url":
			if row.Type == ActionWebhook {
				return nil, fault.Invalidf("url must not be null")
			}
		case "headers":
			u.ClearHeaders().ClearHeaderNames()
		case "prompt":
			u.SetPrompt("")
		case "icon":
			u.SetIcon("")
		case "criteria":
			u.SetCriteria("")
		case "description":
			u.SetDescription("")
		case "format":
			u.SetFormat(formats[0])
		case "include_phi":
			u.SetIncludePhi(false)
		}
	}
	return u, nil
}

// Delete takes an action away. Errors: agent_not_found, action_not_found.
func (a Actions) Delete(ctx context.Context, agentID, id uuid.UUID) error {
	return a.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if _, err := lockAgent(ctx, tx, agentID); err != nil {
			return err
		}
		n, err := tx.Action.Delete().Where(action.ID(id), action.AgentID(agentID)).Exec(ctx)
		if err == nil && n == 0 {
			return fault.Missing("action")
		}
		return err
	})
}

// Headers are a webhook's request headers in the clear, for the delivery alone.
func (a Actions) Headers(row *ent.Action) (map[string]string, error) {
	if len(row.Headers) == 0 {
		return nil, nil
	}
	plain, err := a.Key.Open(row.Headers, place(row.WorkspaceID, row.ID))
	if err != nil {
		return nil, fmt.Errorf("headers of action %s: %w", row.ID, err)
	}
	var headers map[string]string
	err = json.Unmarshal(plain, &headers)
	return headers, err
}

// lockAgent holds an agent's row, so that changes to its actions come one after the other.
func lockAgent(ctx context.Context, tx *store.Tx, id uuid.UUID) (*ent.Agent, error) {
	return found(tx.Agent.Query().Where(agent.ID(id), store.ForUpdate).Only(ctx))
}

func place(workspace, id uuid.UUID) secret.Place {
	return secret.Place{Workspace: workspace, Table: action.Table, Row: id, Column: action.FieldHeaders}
}

func (a Actions) seal(workspace, id uuid.UUID, headers map[string]string) []byte {
	plain, err := json.Marshal(headers)
	if err != nil {
		panic("agent: encode headers: " + err.Error()) // texts always encode
	}
	return a.Key.Seal(plain, place(workspace, id))
}

// keepMasked puts the stored values in where the mask was sent back.
func (a Actions) keepMasked(row *ent.Action, headers map[string]string) (map[string]string, error) {
	stored, err := a.Headers(row)
	if err != nil {
		return nil, err
	}
	headers = maps.Clone(headers)
	for name, value := range headers {
		if value != Masked {
			continue
		}
		kept, ok := stored[name]
		if !ok {
			return nil, fault.Invalidf("headers.%s has no stored value to keep", name)
		}
		headers[name] = kept
	}
	return headers, nil
}

// check holds the input against the bounds of its type. Fields that mean nothing for the type are refused: a caller who
// sends them believes something that is not so.
func (a Actions) check(in *Action) error {
	if in.Name != nil {
		name, err := checkName(*in.Name)
		if err != nil {
			return fault.Invalidf("name %s", err)
		}
		in.Name = &name
	}
	for _, f := range []struct {
		name, only string
		given      bool
	}{
		{"url", ActionWebhook, in.URL != nil}, {"headers", ActionWebhook, len(in.Headers) > 0},
		{"include_phi", ActionWebhook, in.IncludePHI != nil}, {"prompt", ActionSummary, in.Prompt != nil},
		{"icon", ActionSuccessCheck, in.Icon != nil}, {"criteria", ActionSuccessCheck, in.Criteria != nil},
		{"format", ActionExtractData, in.Format != nil}, {"description", ActionExtractData, in.Description != nil},
	} {
		if f.given && f.only != in.Type {
			return fault.Invalidf("%s belongs to actions of the type %s", f.name, f.only)
		}
	}
	for _, f := range []struct {
		name string
		text *string
		max  int
	}{{"prompt", in.Prompt, 20_000}, {"icon", in.Icon, 8}, {"criteria", in.Criteria, 20_000}, {"description", in.Description, 20_000}} {
		if f.text == nil {
			continue
		}
		if err := checkText(*f.text, f.max); err != nil {
			return fault.Invalidf("%s %s", f.name, err)
		}
	}
	if in.Format != nil && !slices.Contains(formats, *in.Format) {
		return fault.Invalidf("format must be one of %s", strings.Join(formats, ", "))
	}
	if in.URL != nil {
		if err := a.Egress.CheckURL(egress.Webhook, "url", *in.URL); err != nil {
			return err
		}
	}
	return checkHeaders(in.Headers)
}

func checkHeaders(headers map[string]string) error {
	if len(headers) > maxHeaders {
		return fault.Invalidf("headers must have at most %d entries", maxHeaders)
	}
	seen := map[string]bool{}
	for _, name := range sortedNames(headers) {
		if err := egress.ValidHeader("headers", name, headers[name]); err != nil {
			return err
		}
		canonical := http.CanonicalHeaderKey(name)
		if strings.HasPrefix(canonical, "X-Delivery-") {
			return fault.Invalidf("headers: %s is set by Callwright and can not be configured", canonical)
		}
		if seen[canonical] {
			return fault.Invalidf("headers: %s stands there twice", canonical)
		}
		seen[canonical] = true
	}
	return nil
}

// freeKey makes a slug of the name that no action of the agent and type has. A name without letters gets one from the id.
func freeKey(ctx context.Context, tx *store.Tx, agentID uuid.UUID, kind, name string, id uuid.UUID) (string, error) {
	base := slug.Make(name)
	if base == "" {
		text := id.String()
		base = "action-" + text[len(text)-8:]
	}
	for n := 1; ; n++ {
		key := base
		if n > 1 {
			key = fmt.Sprintf("%s-%d", base, n)
		}
		taken, err := tx.Action.Query().Where(action.AgentID(agentID), action.Type(kind), action.Key(key)).Exist(ctx)
		if err != nil || !taken {
			return key, err
		}
	}
}

func sortedNames(headers map[string]string) []string { return slices.Sorted(maps.Keys(headers)) }
