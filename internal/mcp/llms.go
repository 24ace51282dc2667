package mcp

import (
	"fmt"
	"net/http"
	"strings"
)

// llms is the index for assistants that read a site before they use it (llmstxt.org).
const llms = `# Callwright

> Callwright runs AI voice agents that place and answer telephone calls: over REST and gRPC with an API key, and as a
> read-only tool server (MCP) for assistants.

Every request carries ` + "`Authorization: Bearer <API key>`" + `. Errors are {status, error_code, message, details?}; branch on error_code.

## Interfaces

- [Tool server](%[1]s/mcp): MCP over Streamable HTTP, stateless. Tools: list_agents, get_agent, list_calls, get_call. They change nothing. Send Accept: application/json, text/event-stream.
- [REST](%[1]s/v1): place a call with POST /v1/call {"to": "+15005550006", "agent_id": "…"}; read it with GET /v1/calls/{id}.
- [OpenAPI description](%[1]s/openapi.json): every operation of REST, with bounds and errors.
- [API reference](%[1]s/docs): the same for people.
`

// LLMs serves /llms.txt. publicURL defaults to the address of the request.
func LLMs(publicURL string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		url := strings.TrimRight(publicURL, "/")
		if url == "" {
			url = "http://" + r.Host
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		fmt.Fprintf(w, llms, url)
	})
}
