package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	main "github.com/callwright/callwright/cmd/callwright"
)

// devFacts is the line that dev prints without a terminal.
type devFacts struct {
	Version     string `json:"version"`
	DataDir     string `json:"data_dir"`
	Database    string `json:"database"`
	Carrier     string `json:"carrier"`
	HTTPURL     string `json:"http_url"`
	APIURL      string `json:"api_url"`
	GRPCAddr    string `json:"grpc_addr"`
	WorkspaceID string `json:"workspace_id"`
	APIKey      string `json:"api_key"`
	KeyID       string `json:"key_id"`
	AgentID     string `json:"agent_id"`
	Curl        string `json:"curl"`
	SetUpURL    string `json:"set_up_url"`
	MCPURL      string `json:"mcp_url"`
	MCPAdd      string `json:"mcp_add"`
}

// lockedBuffer takes the log of a program that runs beside its test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// dev starts callwright dev in this process; stop ends it as a signal does and returns its log.
func (in installation) dev(t *testing.T, args ...string) (f devFacts, stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	var log lockedBuffer
	code := make(chan int, 1)
	args = append(append([]string{"dev", "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0"}, in.flags...), args...)
	go func() {
		code <- main.Run(ctx, args, w, &log)
		w.Close()
	}()
	stopped := false
	stop = func() string {
		if cancel(); !stopped {
			stopped = true
			require.Zero(t, <-code, log.String())
		}
		return log.String()
	}
	t.Cleanup(func() { stop() })
	out := bufio.NewReader(r)
	line, err := out.ReadString('\n')
	require.NoError(t, err, log.String())
	go io.Copy(io.Discard, out)
	dec := json.NewDecoder(strings.NewReader(line))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&f))
	return f, stop
}

// do sends a request with the demo's key and reads the answer.
func (f devFacts) do(t *testing.T, method, url, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+f.APIKey)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, text
}

// The first minute of a newcomer: start, paste the call, read it, listen to it; start again and find it all there.
func TestTheFirstCall(t *testing.T) {
	installations(t, func(t *testing.T, in installation) {
		f, stop := in.dev(t, "--sandbox-speed", "20", "--rate-limit", "0")
		require.Contains(t, f.Curl, f.APIKey)
		require.Contains(t, f.Curl, f.AgentID)
		require.Contains(t, f.Curl, f.APIURL+"/call ")

		_, body, found := strings.Cut(f.Curl, "-d '")
		require.True(t, found)
		status, answer := f.do(t, "POST", f.APIURL+"/call", strings.TrimSuffix(body, "'"))
		require.Equal(t, 200, status, string(answer))
		var placed struct {
			Data struct {
				Status string `json:"status"`
				CallID string `json:"call_id"`
			} `json:"data"`
		}
		require.NoError(t, json.Unmarshal(answer, &placed))
		require.Equal(t, "Queued", placed.Data.Status)
		id := placed.Data.CallID

		c := f.ended(t, id)
		require.Equal(t, "completed", c["status"], c)
		require.Equal(t, "human", c["answered_by"])
		require.Contains(t, c["transcript"], "Hi Maria, this is Juniper from Harbor Dental")
		require.NotEmpty(t, c["ended_reason"])
		f.requireBothVoices(t, id)
		stop()

		again, stop := in.dev(t)
		require.Equal(t, f.APIKey, again.APIKey, "the demo is made once")
		require.Equal(t, f.AgentID, again.AgentID)
		require.Equal(t, f.WorkspaceID, again.WorkspaceID)
		require.Equal(t, "completed", again.ended(t, id)["status"])

		status, answer = again.do(t, "DELETE", again.APIURL+"/agents/"+f.AgentID, "")
		require.Equal(t, 200, status, string(answer))
		stop()
		third, _ := in.dev(t)
		require.Equal(t, f.APIKey, third.APIKey)
		require.NotEqual(t, f.AgentID, third.AgentID, "an agent that was deleted is made anew")
	})
}

// call reads the full record of a call.
func (f devFacts) call(t *testing.T, id string) map[string]any {
	t.Helper()
	status, text := f.do(t, "GET", f.APIURL+"/calls/"+id, "")
	require.Equal(t, 200, status, string(text))
	var answer struct {
		Data map[string]any `json:"data"`
	}
	require.NoError(t, json.Unmarshal(text, &answer))
	return answer.Data
}

// ended waits for the end of a call and returns its full record.
func (f devFacts) ended(t *testing.T, id string) map[string]any {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		c := f.call(t, id)
		if c["ended_at"] != nil {
			return c
		}
		require.True(t, time.Now().Before(deadline), "the call does not end: %v", c)
	}
}

// requireBothVoices fetches the recording: stereo, 8 kHz, 16 bit, with sound of the agent left and the caller right.
func (f devFacts) requireBothVoices(t *testing.T, id string) {
	t.Helper()
	var wav []byte
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var status int
		if status, wav = f.do(t, "GET", f.APIURL+"/call/"+id+"/recording", ""); status == 200 {
			break
		}
		require.True(t, time.Now().Before(deadline), "no recording: %d %s", status, wav)
	}
	require.Equal(t, "RIFF", string(wav[:4]))
	require.EqualValues(t, len(wav)-8, binary.LittleEndian.Uint32(wav[4:]))
	require.EqualValues(t, 2, binary.LittleEndian.Uint16(wav[22:]), "channels")
	require.EqualValues(t, 8000, binary.LittleEndian.Uint32(wav[24:]), "samples per second")
	require.EqualValues(t, 16, binary.LittleEndian.Uint16(wav[34:]), "bits")
	var energy [2]float64
	samples := wav[44:]
	for i := 0; i+3 < len(samples); i += 4 {
		for side := range energy {
			v := float64(int16(binary.LittleEndian.Uint16(samples[i+2*side:])))
			energy[side] += v * v
		}
	}
	require.Greater(t, energy[0], 1e6, "the agent is heard")
	require.Greater(t, energy[1], 1e6, "the caller is heard")
}

func TestTheDemoKeyIsItsOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	in := installation{dir, []string{"--data-dir", dir}}
	in.dev(t)
	stat, err := os.Stat(filepath.Join(dir, "dev.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), stat.Mode().Perm())
}

func TestAPortInUseIsSaidBeforeAnythingIsSeeded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	in := installation{dir, []string{"--data-dir", dir}}
	f, _ := in.dev(t)
	other := filepath.Join(t.TempDir(), "other")
	said := installation{other, []string{"--data-dir", other}}.refused(t, "dev", "--http-addr", strings.TrimPrefix(f.HTTPURL, "http://"))
	require.Contains(t, said, "is in use")
	require.Contains(t, said, "--http-addr")
	require.NoFileExists(t, filepath.Join(other, "dev.json"))
}
