package main

import (
	"context"
	"fmt"
	"os"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/identity"
)

type workspaceCommand struct {
	Create workspaceCreate `cmd:"" help:"Make a workspace with its owner, its first API key and a user token of the owner."`
	Plan   workspacePlan   `cmd:"" help:"Set what a workspace may use."`
}

type workspaceCreate struct {
	Name       string `required:"" env:"-" help:"Name of the workspace, 1 to 128 characters."`
	OwnerEmail string `env:"-" placeholder:"ADDRESS" help:"Email address of the owner."`
	Plan       string `env:"-" placeholder:"FILE.json" help:"Plan; see callwright workspace plan --help. Default: no windows, 100 calls at once, 60 minutes a call."`
	HIPAA      bool   `env:"-" name:"hipaa" help:"Keep transcripts, summaries and recordings of this workspace out of the store."`
	JSON       bool   `env:"-" name:"json" help:"Print one JSON object."`
	storage
}

func (workspaceCreate) Help() string {
	return "Works directly on the database, with the server running or not. The API key is shown this once.\n\n" +
		"Example:\n  callwright workspace create --name \"Harbor Dental\" --owner-email ana@example.com --json"
}

// created is what workspace create prints (CONTRACT.md §4).
type created struct {
	WorkspaceID uuid.UUID `json:"workspace_id"`
	APIKey      string    `json:"api_key"`
	KeyID       uuid.UUID `json:"key_id"`
	OwnerID     uuid.UUID `json:"owner_id"`
	UserToken   string    `json:"user_token"`
}

func (c *workspaceCreate) Run(ctx context.Context, t *terminal) error {
	in := identity.NewWorkspace{Name: c.Name, OwnerEmail: c.OwnerEmail, HIPAA: c.HIPAA}
	if c.Plan != "" {
		plan, err := readPlan(c.Plan)
		if err != nil {
			return err
		}
		in.Plan = &plan
	}
	g, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	f, err := g.identity.CreateWorkspace(ctx, in)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(created{f.Workspace.ID, f.Key.Secret, f.Key.Row.ID, f.Owner.ID, f.Token})
	}
	t.table(
		"Workspace", f.Workspace.ID.String(),
		"API key", f.Key.Secret+"   shown once",
		"Key id", f.Key.Row.ID.String(),
		"Owner", f.Owner.ID.String(),
		"User token", f.Token+"   valid for a day",
	)
	return nil
}

type workspacePlan struct {
	WorkspaceID uuid.UUID `arg:"" help:"Id of the workspace."`
	File        string    `required:"" env:"-" placeholder:"FILE.json" help:"The plan; - reads it from stdin."`
	storage
}

func (workspacePlan) Help() string {
	return "The file says what it does not leave to the default:\n\n" +
		`  {"limited": true, "concurrent_calls": 5, "max_call_minutes": 30,` + "\n" +
		`   "windows": [{"key": "calls_per_day", "limit": 200}]}` + "\n\n" +
		"Keys: calls_per_hour, calls_per_day, calls_per_30_days, minutes_per_day, minutes_per_30_days. " +
		"Without limited nothing refuses a call."
}

func (c *workspacePlan) Run(ctx context.Context, t *terminal) error {
	plan, err := readPlan(c.File)
	if err != nil {
		return err
	}
	g, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.identity.SetPlan(ctx, c.WorkspaceID, plan); err != nil {
		return err
	}
	return t.json(plan)
}

func readPlan(file string) (identity.Plan, error) {
	if file == "-" {
		file = "/dev/stdin"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return identity.Plan{}, fmt.Errorf("read the plan: %w", err)
	}
	return identity.ParsePlan(text)
}
