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

Every request carries ` + "`Authorization: Bearer <API key>`" + `. Errors are {status, error_code, message, details?}; branch on error_code. An assistant whose user has an account but gave it no key pairs with it: POST /v1/agent/onboarding/start without a credential, show the user_code and the verification_url, then poll.

## Interfaces

- [Tool server](%[1]s/mcp): MCP over Streamable HTTP, without sessions. POST JSON-RPC 2.0 (tools/list, tools/call) with Accept: application/json, text/event-stream. Tools: list_agents, get_agent, list_calls, get_call. They change nothing.
- [OpenAPI description](%[1]s/openapi.json): every operation of REST, with bounds, examples and errors.
- [API reference](%[1]s/docs): the same for people.

## What to do with REST

- Call somebody: POST /v1/call {"to": "+15005550006", "agent_id": "…", "variables": {"name": "Maria"}}; then GET /v1/calls/{id} until status is final: transcript, summary and what was extracted are there.
- Find agents: GET /v1/agents. Make one from a website: POST /v1/agent-builder {"website_url": "https://…"}; poll GET /v1/agent-builder/{job_id}.
- Contacts: POST /v1/contact, GET /v1/contact/{id}. Enroll many in a campaign: POST /v1/campaign/{campaign_id}/contact.
- What the plan still allows: GET /v1/usage. 429 carries Retry-After.
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
