package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/mcp"
	"github.com/callwright/callwright/internal/server"
)

// mountTools serves the tool server for assistants.
func (h *house) mountTools(s *server.Server) {
	c := mcp.Config{
		Conn: s.Conn(), Authenticate: s.Caller, PublicURL: h.serving.publicURL(), Version: programVersion(), Log: h.log,
	}
	if n := h.serving.MCPRateLimit; n > 0 {
		log := h.throttle("mcp", n)
		c.Admit = func(ctx context.Context, caller string) (time.Duration, bool) {
			v := log.Take(ctx, caller)
			return v.Reset, v.OK
		}
	}
	s.Mount("/mcp", mcp.New(c))
	s.Mount("/llms.txt", mcp.LLMs(h.serving.publicURL()))
}

type mcpCommand struct {
	Setup mcpSetup `cmd:"" default:"withargs" help:"Print what to paste into Claude Code, Cursor, VS Code and Claude Desktop."`
}

type mcpSetup struct {
	URL     string `env:"-" name:"url" placeholder:"URL" help:"Address of the server. Default: http://127.0.0.1:8080."`
	Key     string `env:"-" placeholder:"KEY" help:"API key with the scope mcp. Default: that of callwright dev in the data directory."`
	DataDir string `default:"./data" placeholder:"DIR" help:"Data directory of callwright dev. Default: ${default}."`
}

func (mcpSetup) Help() string {
	return "The assistant gets four tools that read agents and calls of the key's workspace; they change nothing.\n\n" +
		"Example:\n  callwright mcp setup --url https://calls.example.com --key cw_live_…"
}

func (c *mcpSetup) Run(_ context.Context, t *terminal) error {
	key, err := c.key()
	if err != nil {
		return err
	}
	url := strings.TrimRight(c.URL, "/")
	if url == "" {
		url = "http://127.0.0.1:8080"
	}
	url = strings.TrimSuffix(url, "/mcp") + "/mcp"
	bearer := "Bearer " + key
	headers := map[string]any{"Authorization": bearer}
	fmt.Fprintf(t.stdout, "Claude Code\n  %s\n\n", claudeCode(url, key))
	fmt.Fprintf(t.stdout, "Cursor, in .cursor/mcp.json\n%s\n\n", indented(map[string]any{
		"mcpServers": map[string]any{"callwright": map[string]any{"url": url, "headers": headers}},
	}))
	fmt.Fprintf(t.stdout, "VS Code, in .vscode/mcp.json\n%s\n\n", indented(map[string]any{
		"servers": map[string]any{"callwright": map[string]any{"type": "http", "url": url, "headers": headers}},
	}))
	// Claude Desktop has no field for headers of remote servers.
	fmt.Fprintf(t.stdout, "Claude Desktop, in claude_desktop_config.json (needs Node)\n%s\n", indented(map[string]any{
		"mcpServers": map[string]any{"callwright": map[string]any{
			"command": "npx", "args": []string{"mcp-remote", url, "--header", "Authorization:${CALLWRIGHT_AUTH}"},
			"env": map[string]any{"CALLWRIGHT_AUTH": bearer},
		}},
	}))
	return nil
}

// key is the one given, else the demo's.
func (c *mcpSetup) key() (string, error) {
	if c.Key != "" {
		return c.Key, nil
	}
	text, err := os.ReadFile(filepath.Join(c.DataDir, "dev.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errorf("give --key, an API key with the scope mcp (callwright key create makes one); there is no key of callwright dev in %s", c.DataDir)
	}
	if err != nil {
		return "", err
	}
	var d demo
	if err := json.Unmarshal(text, &d); err != nil || d.APIKey == "" {
		return "", errorf("the key of callwright dev in %s can not be read; give --key", c.DataDir)
	}
	return d.APIKey, nil
}

func claudeCode(url, key string) string {
	return fmt.Sprintf(`claude mcp add --transport http callwright %s --header "Authorization: Bearer %s"`, url, key)
}

func indented(v any) string {
	text, err := json.MarshalIndent(v, "  ", "  ")
	if err != nil {
		panic(err) // maps of texts
	}
	return "  " + string(text)
}
