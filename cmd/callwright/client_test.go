package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/nodetest"
)

// Somebody else's tools understand what we serve: a client that they generated works over gRPC, and a public linter finds
// nothing wrong with /openapi.json.
func TestForeignToolsUnderstandUs(t *testing.T) {
	w := nodetest.Install(t, "testdata/typescript")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, "--sandbox-speed", "20")

	t.Run("a generated TypeScript client", func(t *testing.T) {
		w.RunIn(t, root, "go", "tool", "-modfile=internal/tools/go.mod", "buf", "generate",
			"--template", filepath.Join(w.Dir, "buf.gen.yaml"), "--output", w.Dir)
		w.Run(t, "tsc")
		var found struct {
			Status, Metadata, Transcript string
			Recording                    struct {
				MediaType      string
				Size, Received int
			}
			Unknown, Malformed struct {
				Code, ErrorCode string
				Status          int
			}
		}
		require.NoError(t, json.Unmarshal(w.Run(t, "node", "built/client.js", f.GRPCAddr, f.APIKey, f.AgentID), &found))
		require.Equal(t, "COMPLETED", found.Status)
		require.JSONEq(t, `{"from":"ts"}`, found.Metadata)
		require.Contains(t, found.Transcript, "Hi Maria")
		require.Equal(t, "audio/wav", found.Recording.MediaType)
		require.Greater(t, found.Recording.Size, 44)
		require.Equal(t, found.Recording.Size, found.Recording.Received)
		require.Equal(t, "NotFound", found.Unknown.Code)
		require.Equal(t, "call_not_found", found.Unknown.ErrorCode)
		require.Equal(t, 404, found.Unknown.Status)
		require.Equal(t, "InvalidArgument", found.Malformed.Code)
		require.Equal(t, "validation_failed", found.Malformed.ErrorCode)
	})

	t.Run("a public linter of OpenAPI", func(t *testing.T) {
		status, text := f.do(t, "GET", f.HTTPURL+"/openapi.json", "")
		require.Equal(t, 200, status)
		require.NoError(t, os.WriteFile(filepath.Join(w.Dir, "openapi.json"), text, 0o600))
		var report struct {
			Totals struct{ Errors, Warnings int }
		}
		out := w.Run(t, "redocly", "lint", "openapi.json", "--format", "json")
		require.NoError(t, json.Unmarshal(out, &report), string(out))
		require.Zero(t, report.Totals.Errors+report.Totals.Warnings, string(out))
	})
}
