package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAssistantsAreToldHowToConnect(t *testing.T) {
	const key, url = "cw_live_abc", "https://calls.example.com"
	all, _, code := callwright(t, "mcp", "setup", "--url", url+"/", "--key", key)
	require.Zero(t, code)
	for _, title := range []string{"Claude Code\n", "Claude Desktop, in claude_desktop_config.json", "Cursor, in .cursor/mcp.json",
		"VS Code, in .vscode/mcp.json", "Codex, in ~/.codex/config.toml", "Gemini CLI\n", "Windsurf, in "} {
		require.Contains(t, all, title)
	}
	lines := func(assistant string) string {
		out, _, code := callwright(t, "mcp", "setup", assistant, "--url", url+"/mcp", "--key", key)
		require.Zero(t, code)
		require.Contains(t, all, out)
		_, text, _ := strings.Cut(out, "\n")
		return text
	}
	require.Equal(t, `claude mcp add --transport http callwright https://calls.example.com/mcp --header "Authorization: Bearer cw_live_abc"`,
		strings.TrimSpace(lines("claude-code")))
	require.Equal(t, `gemini mcp add --scope user --transport http --header "Authorization: Bearer cw_live_abc" callwright https://calls.example.com/mcp`,
		strings.TrimSpace(lines("gemini")))
	require.Equal(t, "[mcp_servers.callwright]\n  url = \"https://calls.example.com/mcp\"\n  http_headers = { \"Authorization\" = \"Bearer cw_live_abc\" }",
		strings.TrimSpace(lines("codex")))
	for assistant, want := range map[string]string{
		"cursor":   `{"mcpServers":{"callwright":{"url":"https://calls.example.com/mcp","headers":{"Authorization":"Bearer cw_live_abc"}}}}`,
		"windsurf": `{"mcpServers":{"callwright":{"serverUrl":"https://calls.example.com/mcp","headers":{"Authorization":"Bearer cw_live_abc"}}}}`,
		"vscode":   `{"servers":{"callwright":{"type":"http","url":"https://calls.example.com/mcp","headers":{"Authorization":"Bearer cw_live_abc"}}}}`,
		"claude-desktop": `{"mcpServers":{"callwright":{"command":"npx","args":["-y","mcp-remote","https://calls.example.com/mcp","--header",
			"Authorization:${CALLWRIGHT_AUTH}"],"env":{"CALLWRIGHT_AUTH":"Bearer cw_live_abc"}}}}`,
	} {
		require.JSONEq(t, want, lines(assistant), assistant)
	}
	short, _, code := callwright(t, "mcp", "--key", key)
	require.Zero(t, code, "setup is what mcp does")
	require.Contains(t, short, "http://127.0.0.1:8080/mcp")

	in := installation{dir: t.TempDir()}
	require.Contains(t, in.refused(t, "mcp", "setup", "telex", "--key", key), `"telex" is not known; there are claude-code,`)
	require.Contains(t, in.refused(t, "mcp", "setup", "--data-dir", in.dir), "give --key")
}

func TestAnAssistantThatReadsTheSiteFindsItsWay(t *testing.T) {
	dir := t.TempDir()
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t)
	res, err := http.Get(f.HTTPURL + "/llms.txt")
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(string(text), "# Callwright\n\n> "), "llmstxt.org wants a title and a quoted summary first")
	// Every address in it is one that is served.
	for _, link := range strings.Split(string(text), "](")[1:] {
		address, _, _ := strings.Cut(link, ")")
		require.True(t, strings.HasPrefix(address, f.HTTPURL), address)
		status, body := f.do(t, "GET", address, "")
		require.NotEqual(t, 404, status, "%s: %s", address, body)
	}
	status, body := f.do(t, "GET", f.HTTPURL+"/openapi.json", "")
	require.Equal(t, 200, status)
	require.NoError(t, json.Unmarshal(body, &map[string]any{}))
	res, err = http.Post(f.HTTPURL+"/llms.txt", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 405, res.StatusCode)
}
