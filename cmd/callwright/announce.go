package main

import (
	"context"
	"fmt"
)

// facts are what somebody who started the program needs to know next. Without a terminal they are one JSON line.
type facts struct {
	Version  string `json:"version"`
	DataDir  string `json:"data_dir"`
	Database string `json:"database"`
	Carrier  string `json:"carrier"`
	HTTPURL  string `json:"http_url"`
	APIURL   string `json:"api_url"`
	GRPCAddr string `json:"grpc_addr"`
	MCPURL   string `json:"mcp_url"`
	// Where SIP is heard; absent on the sandbox.
	SIPAddr string `json:"sip_addr,omitempty"`
	// Makes the first owner; absent once somebody can sign in.
	SetUpURL string `json:"set_up_url,omitempty"`
}

func (h *house) facts() facts {
	url := h.serving.publicURL()
	if url == "" {
		url = "http://" + h.server.HTTPAddr.String()
	}
	sipAddr := ""
	if h.sip != nil {
		sipAddr = h.sip.Addr()
	}
	return facts{
		SIPAddr:  sipAddr,
		Version:  programVersion(),
		DataDir:  h.storage.DataDir,
		Database: h.storage.database(),
		Carrier:  h.serving.Carrier,
		HTTPURL:  url,
		APIURL:   url + "/v1",
		GRPCAddr: h.server.GRPCAddr.String(),
		MCPURL:   url + "/mcp",
	}
}

// announce prints where the server is reached.
func (h *house) announce(ctx context.Context, t *terminal) (err error) {
	f := h.facts()
	if f.SetUpURL, err = h.setUpURL(ctx, nil); err != nil {
		return err
	}
	if !interactive(t.stdout) {
		return t.json(f)
	}
	fmt.Fprintf(t.stdout, "\n  %s\n\n", f.headline())
	t.list("Portal", f.portal(), "API", f.APIURL, "gRPC", f.grpc(h.serving.GRPCReflection), "MCP", f.MCPURL)
	if f.SIPAddr != "" {
		t.list("SIP", f.SIPAddr+"   UDP and TCP")
	}
	return nil
}

func (f facts) headline() string {
	s := fmt.Sprintf("callwright %s   data %s (%s)", f.Version, f.DataDir, f.Database)
	if f.Carrier == "sandbox" {
		s += "   sandbox carrier: no real phone is called"
	}
	return s
}

// portal is where people sign in; at first with the link that makes them the owner.
func (f facts) portal() string {
	if f.SetUpURL != "" {
		return f.SetUpURL + "   makes you the owner; works once, for 30 minutes"
	}
	return f.HTTPURL
}

func (f facts) grpc(reflection bool) string {
	if reflection {
		return fmt.Sprintf("%-36s  reflection on", f.GRPCAddr)
	}
	return f.GRPCAddr
}
