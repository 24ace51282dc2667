package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type mcpCommand struct {
	Setup mcpSetup `cmd:"" default:"withargs" help:"Print what to paste into Claude Code, Cursor, VS Code, Codex and others."`
}

type mcpSetup struct {
	Assistant string `arg:"" optional:"" placeholder:"ASSISTANT" help:"Print the lines of this one alone: ${assistants}."`
	URL       string `env:"-" name:"url" placeholder:"URL" help:"Address of the server. Default: http://127.0.0.1:8080."`
	Key       string `env:"-" placeholder:"KEY" help:"API key with the scope mcp. Default: that of callwright dev in the data directory."`
	DataDir   string `default:"./data" placeholder:"DIR" help:"Data directory of callwright dev. Default: ${default}."`
}

func (mcpSetup) Help() string {
	return "The assistant gets four tools that read agents and calls of the key's workspace; they change nothing. " +
		"Make it a key of its own with callwright key create --scope mcp.\n\n" +
		"Example:\n  callwright mcp setup codex --url https://calls.example.com --key cw_live_…"
}

// assistant is a program that can use the tools, and how it is told about them.
type assistant struct {
	// name is for the command line, title for people.
	name, title string
	// where says which file the lines belong into; empty for a command to run.
	where string
	lines func(url, key string) string
}

// assistants lists those whose way of configuration is known. Some want the address in a member of another name; and
// Claude Desktop has no field for headers at all.
var assistants = []assistant{
	{"claude-code", "Claude Code", "", claudeCode},
	{"claude-desktop", "Claude Desktop", "claude_desktop_config.json (needs Node)", func(url, key string) string {
		return indented(map[string]any{"mcpServers": map[string]any{"callwright": map[string]any{
			"command": "npx", "args": []string{"-y", "mcp-remote", url, "--header", "Authorization:${CALLWRIGHT_AUTH}"},
			"env": map[string]any{"CALLWRIGHT_AUTH": "Bearer " + key},
		}}})
	}},
	{"cursor", "Cursor", ".cursor/mcp.json", jsonFile("mcpServers", "url", nil)},
	{"vscode", "VS Code", ".vscode/mcp.json", jsonFile("servers", "url", map[string]any{"type": "http"})},
	{"codex", "Codex", "~/.codex/config.toml", func(url, key string) string {
		return fmt.Sprintf("[mcp_servers.callwright]\nurl = %q\nhttp_headers = { \"Authorization\" = %q }", url, "Bearer "+key)
	}},
	{"gemini", "Gemini CLI", "", func(url, key string) string {
		return fmt.Sprintf(`gemini mcp add --scope user --transport http --header "Authorization: Bearer %s" callwright %s`, key, url)
	}},
	{"windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json", jsonFile("mcpServers", "serverUrl", nil)},
	{"other", "Any other that speaks MCP over Streamable HTTP", "", func(url, key string) string {
		return "URL     " + url + "\nHeader  Authorization: Bearer " + key
	}},
}

func assistantNames() []string {
	var names []string
	for _, a := range assistants {
		names = append(names, a.name)
	}
	return names
}

func (c *mcpSetup) Run(_ context.Context, t *terminal) error {
	if c.Assistant != "" && !slices.Contains(assistantNames(), c.Assistant) {
		return errorf("%q is not known; there are %s", c.Assistant, strings.Join(assistantNames(), ", "))
	}
	key, err := c.key()
	if err != nil {
		return err
	}
	url := strings.TrimRight(c.URL, "/")
	if url == "" {
		url = "http://127.0.0.1:8080"
	}
	url = strings.TrimSuffix(url, "/mcp") + "/mcp"
	between := ""
	for _, a := range assistants {
		if c.Assistant != "" && c.Assistant != a.name {
			continue
		}
		head := a.title
		if a.where != "" {
			head += ", in " + a.where
		}
		lines := strings.ReplaceAll(a.lines(url, key), "\n", "\n  ")
		fmt.Fprintf(t.stdout, "%s%s\n  %s\n", between, head, lines)
		between = "\n"
	}
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

// jsonFile makes the lines of a configuration file: the member that holds servers, and the one that holds the address.
func jsonFile(servers, address string, more map[string]any) func(url, key string) string {
	return func(url, key string) string {
		server := map[string]any{address: url, "headers": map[string]any{"Authorization": "Bearer " + key}}
		for name, v := range more {
			server[name] = v
		}
		return indented(map[string]any{servers: map[string]any{"callwright": server}})
	}
}

func indented(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // maps of texts
	}
	return string(text)
}
