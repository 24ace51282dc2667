package mcp_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"

	protocol "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/mcp"
	"github.com/callwright/callwright/internal/nodetest"
)

// The tools that the public conformance suite calls by name; what they answer is given by the suite.
func addFixtures(s *server.MCPServer) {
	pixel := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	silence := base64.StdEncoding.EncodeToString([]byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00"))
	text := func(s string) protocol.Content { return protocol.NewTextContent(s) }
	resource := func(uri, media, s string) protocol.Content {
		return protocol.NewEmbeddedResource(protocol.TextResourceContents{URI: uri, MIMEType: media, Text: s})
	}
	for name, content := range map[string][]protocol.Content{
		"test_simple_text":       {text("This is a simple text response for testing.")},
		"test_image_content":     {protocol.NewImageContent(pixel, "image/png")},
		"test_audio_content":     {protocol.NewAudioContent(silence, "audio/wav")},
		"test_embedded_resource": {resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {text("Multiple content types test:"), protocol.NewImageContent(pixel, "image/png"),
			resource("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)},
	} {
		s.AddTool(protocol.NewTool(name, protocol.WithDescription("Answers what the suite expects.")), func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
			return &protocol.CallToolResult{Content: content}, nil
		})
	}
	s.AddTool(protocol.NewTool("test_error_handling", protocol.WithDescription("Fails.")), func(context.Context, protocol.CallToolRequest) (*protocol.CallToolResult, error) {
		return protocol.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
}

// The public conformance suite calls tools behind our guard; its scenarios without such tools are tried on the whole
// program (cmd/callwright). What it asks of sessions (sampling, elicitation, log levels, progress) we do not offer: there are none.
func TestTheConformanceSuiteCallsTools(t *testing.T) {
	bench := nodetest.Install(t, "testdata/conformance")
	var inner http.Handler
	startWith(t, func(c mcp.Config) http.Handler {
		inner = mcp.NewWith(c, addFixtures)
		return inner
	})
	// The suite's program can not send a header of ours.
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer good")
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	for _, scenario := range []string{
		"tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource",
		"tools-call-mixed-content", "tools-call-error",
	} {
		t.Run(scenario, func(t *testing.T) {
			out := bench.Run(t, "conformance", "server", "--url", front.URL+"/mcp", "--scenario", scenario)
			require.Contains(t, string(out), " 0 failed, 0 warnings")
		})
	}
}
