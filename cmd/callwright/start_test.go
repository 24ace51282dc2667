package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// built is the program as make build makes it, but for its version. It is built once for all tests.
func built(t testing.TB) string {
	t.Helper()
	program, err := build()
	require.NoError(t, err)
	return program
}

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "callwright-test-")
	if err != nil {
		return "", err
	}
	builtIn = dir
	program := filepath.Join(dir, "callwright")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// builtIn is the directory of the built program, removed after all tests.
var builtIn string

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// process is a running program and what it said on its first line.
type process struct {
	cmd   *exec.Cmd
	facts map[string]any
	ready time.Duration // from its start to the first good answer of /readyz
}

// start runs the program until /readyz is good, on free ports.
func start(t testing.TB, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, append(args, "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")...)}
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	var logged strings.Builder
	p.cmd.Stderr = &logged
	begin := time.Now()
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		_ = p.cmd.Wait()
		require.NoError(t, err, logged.String())
	}
	require.NoError(t, json.Unmarshal(line, &p.facts))
	for {
		r, err := http.Get(p.facts["http_url"].(string) + "/readyz")
		if err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				p.ready = time.Since(begin)
				return p
			}
		}
		require.Less(t, time.Since(begin), 30*time.Second, "never ready: %v\n%s", err, logged.String())
		time.Sleep(2 * time.Millisecond)
	}
}

// stop asks the program to end and waits for it.
func (p *process) stop(t testing.TB) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.cmd.Wait(), "a stop by signal is no failure")
}

// resident is the memory of the process in MB.
func (p *process) resident(t testing.TB) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			require.NoError(t, err)
			return kb / 1024
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// The first signal lets the call go on, the second one ends it; both tell the truth about it, and neither is a failure.
func TestTheSecondSignalEndsCallsInProgress(t *testing.T) {
	program, dir := built(t), t.TempDir()
	p := start(t, program, "dev", "--data-dir", dir)
	f := devFacts{APIURL: p.facts["api_url"].(string), APIKey: p.facts["api_key"].(string)}
	status, answer := f.do(t, "POST", f.APIURL+"/call", `{"to":"+15005550006","agent_id":"`+p.facts["agent_id"].(string)+`"}`)
	require.Equal(t, 200, status, string(answer))
	var placed struct {
		Data struct {
			CallID string `json:"call_id"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal(answer, &placed))
	for f.call(t, placed.Data.CallID)["status"] != "in-progress" {
		time.Sleep(20 * time.Millisecond)
	}
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	for { // the first signal closes the listeners
		if _, err := http.Get(p.facts["http_url"].(string) + "/healthz"); err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.stop(t)

	p = start(t, program, "dev", "--data-dir", dir)
	f.APIURL = p.facts["api_url"].(string)
	c := f.ended(t, placed.Data.CallID)
	require.Equal(t, "failed", c["status"])
	require.Equal(t, "service_shutdown", c["ended_reason"])
	require.Contains(t, c["transcript"], "I have to end this call now")
	p.stop(t)
}

// BenchmarkStart measures what the first minute and an idle machine feel: milliseconds from the start of the process to
// the first good /readyz on a migrated database (goal: 300), and megabytes of memory when idle (goal: 50).
func BenchmarkStart(b *testing.B) {
	program, dir := built(b), b.TempDir()
	start(b, program, "serve", "--data-dir", dir).stop(b)
	var ready time.Duration
	var memory float64
	for b.Loop() {
		p := start(b, program, "serve", "--data-dir", dir)
		ready += p.ready
		time.Sleep(2 * time.Second) // idle
		memory = max(memory, p.resident(b))
		p.stop(b)
	}
	b.ReportMetric(float64(ready.Milliseconds())/float64(b.N), "ms/ready")
	b.ReportMetric(memory, "MB-idle")
	b.ReportMetric(0, "ns/op")
}
