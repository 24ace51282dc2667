package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
)

// demo is the workspace that dev makes. Its key is kept in a file, against the rule that a key is shown once, so that
// dev can print it again: only dev does so, and the file is its owner's alone.
type demo struct {
	WorkspaceID uuid.UUID `json:"workspace_id"`
	APIKey      string    `json:"api_key"`
	KeyID       uuid.UUID `json:"key_id"`
	AgentID     uuid.UUID `json:"agent_id"`
}

// demoAgent is the name of the agent in the demo workspace.
const demoAgent = "Juniper"

// demoFile is where the demo's credentials are kept: one file for each database that the data directory is used with.
func (h *house) demoFile() string {
	name := "dev.json"
	if h.storage.DatabaseURL != "" {
		sum := sha256.Sum256([]byte(h.storage.DatabaseURL))
		name = "dev-" + hex.EncodeToString(sum[:4]) + ".json"
	}
	return filepath.Join(h.storage.DataDir, name)
}

// seedDemo returns the demo workspace of earlier starts, or makes it. What somebody deleted since is made anew.
func (h *house) seedDemo(ctx context.Context) (demo, error) {
	d, err := h.readDemo(ctx)
	if err != nil {
		return demo{}, err
	}
	if d.APIKey == "" {
		f, err := h.identity.CreateWorkspace(ctx, identity.NewWorkspace{Name: "Harbor Dental (demo)"})
		if err != nil {
			return demo{}, err
		}
		d = demo{WorkspaceID: f.Workspace.ID, APIKey: f.Key.Secret, KeyID: f.Key.Row.ID}
		if err := h.writeDemo(d); err != nil {
			return demo{}, err
		}
	}
	in := store.WithWorkspace(ctx, d.WorkspaceID)
	_, err = agent.Get(in, h.db.Ent(), d.AgentID)
	switch {
	case err == nil:
		return d, nil
	case !fault.Is(err, "agent_not_found"):
		return demo{}, err
	}
	a, err := agent.Create(in, h.db, demoSettings())
	if err != nil {
		return demo{}, err
	}
	d.AgentID = a.ID
	return d, h.writeDemo(d)
}

// readDemo is empty when there is no demo yet, or its key is not accepted any more.
func (h *house) readDemo(ctx context.Context) (demo, error) {
	text, err := os.ReadFile(h.demoFile())
	if errors.Is(err, fs.ErrNotExist) {
		return demo{}, nil
	}
	if err != nil {
		return demo{}, err
	}
	var d demo
	if err := json.Unmarshal(text, &d); err != nil {
		return demo{}, fmt.Errorf("%s is damaged, remove it: %w", h.demoFile(), err)
	}
	switch _, err := h.identity.Authenticate(ctx, d.APIKey); {
	case fault.Is(err, "unauthorized"):
		return demo{}, nil
	case err != nil:
		return demo{}, err
	}
	return d, nil
}

func (h *house) writeDemo(d demo) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(h.demoFile(), append(text, '\n'), 0o600)
}

// demoSettings make a call that is worth listening to, on every number of the sandbox.
func demoSettings() agent.Settings {
	return agent.Settings{
		Name:                 ptr(demoAgent),
		Role:                 ptr("Receptionist"),
		CompanyName:          ptr("Harbor Dental"),
		Description:          ptr("Made by callwright dev to try things with."),
		WelcomeMsg:           ptr("Hi {{var.name}}, this is Juniper from Harbor Dental. Is now a good time?"),
		Objective:            ptr("We would like to move your cleaning to Thursday at 2:15 pm"),
		VoicemailBehavior:    ptr("leave_message"),
		VoicemailMessage:     ptr("Hi {{var.name}}, Juniper from Harbor Dental here, about your cleaning. Please call us back. Thank you!"),
		CallScreeningMessage: ptr("This is Juniper from Harbor Dental, about an appointment."),
	}
}

func ptr[T any](v T) *T { return &v }
