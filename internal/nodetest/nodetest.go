// Package nodetest gives tests the programs of npm packages: other people's clients and checkers, at the exact versions
// of a lock file.
package nodetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bench is a directory with a copy of a folder of test data and the packages of its package-lock.json; their programs are
// first on the PATH of the test.
type Bench struct{ Dir string }

// Install makes a Bench of a folder. Without Node, or where npm has nothing to install from, the test is skipped and says
// so; with CI_REQUIRE_NODE=1 it fails.
func Install(t *testing.T, folder string) Bench {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI_REQUIRE_NODE") != "" {
		missing = t.Fatalf
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing("NOT TESTED: %s is not installed, so the tools of %s are not tried", program, folder)
		}
	}
	b := Bench{t.TempDir()}
	require.NoError(t, os.CopyFS(b.Dir, os.DirFS(folder)))
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline")
	npm.Dir = b.Dir
	if out, err := npm.CombinedOutput(); err != nil {
		missing("NOT TESTED: npm could not install the tools of %s: %v\n%s", folder, err, out)
	}
	t.Setenv("PATH", filepath.Join(b.Dir, "node_modules", ".bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	return b
}

// Run runs a program in the bench and returns what it printed.
func (b Bench) Run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	return b.RunIn(t, b.Dir, name, args...)
}

// RunIn is Run in another directory.
func (b Bench) RunIn(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "NO_COLOR=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v\n%s\n%s", name, args, out, stderr.String())
	return out
}
