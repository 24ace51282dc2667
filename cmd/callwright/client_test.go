package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// workbench is a directory with the TypeScript client and the tools of package.json. Without Node the test is skipped and
// says so, or fails where CI_REQUIRE_NODE is set; without a registry to install from it is skipped.
type workbench struct {
	dir, root string
}

func newWorkbench(t *testing.T) workbench {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI_REQUIRE_NODE") != "" {
		missing = t.Fatalf
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("NOT TESTED: the TypeScript client and the lint of /openapi.json need %s", program)
		}
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	w := workbench{dir: t.TempDir(), root: root}
	require.NoError(t, os.CopyFS(w.dir, os.DirFS("testdata/typescript")))
	npm := exec.CommandContext(t.Context(), "npm", "install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund",
		"--prefer-offline")
	npm.Dir = w.dir
	if out, err := npm.CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: npm could not install the tools: %v\n%s", err, out)
	}
	t.Setenv("PATH", filepath.Join(w.dir, "node_modules", ".bin")+":"+os.Getenv("PATH"))
	return w
}

// run runs a program and returns what it printed.
func (w workbench) run(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v\n%s\n%s", name, args, out, stderr.String())
	return out
}

// Somebody else's tools understand what we serve: a client that they generated works over gRPC, and a public linter finds
// nothing wrong with /openapi.json.
func TestForeignToolsUnderstandUs(t *testing.T) {
	w := newWorkbench(t)
	dir := t.TempDir()
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, "--sandbox-speed", "20")

	t.Run("a generated TypeScript client", func(t *testing.T) {
		w.run(t, w.root, "go", "tool", "-modfile=internal/tools/go.mod", "buf", "generate",
			"--template", filepath.Join(w.dir, "buf.gen.yaml"), "--output", w.dir)
		w.run(t, w.dir, "tsc")
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
		require.NoError(t, json.Unmarshal(w.run(t, w.dir, "node", "built/client.js", f.GRPCAddr, f.APIKey, f.AgentID), &found))
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
		require.NoError(t, os.WriteFile(filepath.Join(w.dir, "openapi.json"), text, 0o600))
		var report struct {
			Totals struct{ Errors, Warnings int }
		}
		out := w.run(t, w.dir, "redocly", "lint", "openapi.json", "--format", "json")
		require.NoError(t, json.Unmarshal(out, &report), string(out))
		require.Zero(t, report.Totals.Errors+report.Totals.Warnings, string(out))
	})
}
