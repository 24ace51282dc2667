package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

type devCommand struct {
	serving
	storage
}

func (devCommand) Help() string {
	return "Makes a demo workspace with an agent and an API key the first time, and keeps them in the data directory. " +
		"Prints them with a first call to paste; without a terminal, as one JSON line.\n\n" +
		"Example:\n  callwright dev --data-dir /tmp/callwright --http-addr 127.0.0.1:0 --grpc-addr 127.0.0.1:0"
}

func (c *devCommand) Run(ctx context.Context, t *terminal) error {
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 10*time.Second)
	return serve(ctx, t, c.serving, c.storage, func(ctx context.Context, h *house) error {
		d, err := h.seedDemo(ctx)
		if err != nil {
			return fmt.Errorf("make the demo workspace: %w", err)
		}
		return h.announceDemo(ctx, t, d)
	})
}

// demoFacts are the facts of a server that has a demo workspace.
type demoFacts struct {
	facts
	demo
	Curl string `json:"curl"`
	// Connects Claude Code to the tool server.
	MCPAdd string `json:"mcp_add"`
}

// announceDemo prints what a newcomer needs: addresses, key, agent, and the first call.
func (h *house) announceDemo(ctx context.Context, t *terminal, d demo) (err error) {
	f := h.facts()
	if f.SetUpURL, err = h.setUpURL(ctx, &d.WorkspaceID); err != nil {
		return err
	}
	head := fmt.Sprintf(`curl -s %s/call -H "Authorization: Bearer %s"`, f.APIURL, d.APIKey)
	body := fmt.Sprintf(`-H 'Content-Type: application/json' -d '{"to":"+15005550006","agent_id":"%s","variables":{"name":"Maria"}}'`,
		d.AgentID)
	if !interactive(t.stdout) {
		return t.json(demoFacts{f, d, head + " " + body, claudeCode(f.MCPURL, d.APIKey)})
	}
	fmt.Fprintf(t.stdout, "\n  %s\n\n", f.headline())
	t.list(
		"Portal", f.portal(),
		"API", f.APIURL,
		"gRPC", f.grpc(h.serving.GRPCReflection),
		"MCP", f.MCPURL,
		"API key", d.APIKey,
		"Agent", d.AgentID.String()+"  "+demoAgent,
	)
	fmt.Fprintln(t.stdout)
	t.list(
		"Call", head+" \\\n"+strings.Repeat(" ", 15)+body,
		"Read", fmt.Sprintf(`curl -s %s/calls/CALL_ID -H "Authorization: Bearer %s"`, f.APIURL, d.APIKey),
		"Listen", fmt.Sprintf(`curl -s %s/call/CALL_ID/recording -H "Authorization: Bearer %s" -o call.wav`, f.APIURL, d.APIKey),
		"Assistant", claudeCode(f.MCPURL, d.APIKey)+"   (others: callwright mcp setup)",
	)
	fmt.Fprintf(t.stdout, "\n  Ctrl-C stops it. The key is kept in %s.\n\n", h.demoFile())
	return nil
}
