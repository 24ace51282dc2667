package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/store/storetest"
)

// The crash test kills the real program by kill -9, again and again, with calls queued, dialing and in progress, and
// then asks what a user would: is every call that was accepted told of truthfully, was anybody rung twice, is what was
// said and recorded still there.
const (
	firstRound  = 50 // calls that are all in progress when the first kill comes
	laterRounds = 20 // calls each, killed wherever they are
	crashes     = 4
	slots       = 80 // of the plan: the last ones are still queued when the process dies
	crashSpeed  = "2"
	truthWithin = 30 * time.Second // of the last restart
)

func TestAfterKill9EveryCallIsToldTruthfullyAndNobodyIsDialedTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("kills real processes for half a minute")
	}
	program := built(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		crashRounds(t, program)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		crashRounds(t, program, "--database-url", storetest.PostgresURL(t))
	})
}

// crashed is an installation whose process is killed.
type crashed struct {
	program string
	args    []string
	dir     string
	key     string
	agent   string
	at      *process
	placed  []string // ids of accepted calls
	inbox   *inbox
}

func crashRounds(t *testing.T, program string, database ...string) {
	c := &crashed{program: program, dir: t.TempDir(), inbox: newInbox(t)}
	c.args = append([]string{"--data-dir", c.dir, "--log-level", "error"}, database...)
	c.found(t)
	for round := range crashes {
		c.boot(t)
		if round == 0 {
			c.agent = c.post(t, "/v1/agents", `{"name":"Nora","welcome_msg":"Hello, this is Nora. How are you today?"}`)["data"].(map[string]any)["id"].(string)
			c.post(t, "/v1/agents/"+c.agent+"/actions", fmt.Sprintf(`{"type":"webhook","name":"Inbox","url":%q}`, c.inbox.url))
			c.placeAll(t, round, firstRound)
			c.untilTalking(t)
		} else {
			c.placeAll(t, round, laterRounds)
			time.Sleep(time.Duration(rand.IntN(2500)) * time.Millisecond) // let them get somewhere
		}
		require.NoError(t, c.at.cmd.Process.Kill())
		_ = c.at.cmd.Wait()
	}
	c.boot(t)
	calls := c.untilTerminal(t)
	c.judge(t, calls)
	c.judgeDeliveries(t)
	c.at.stop(t)
}

func (c *crashed) found(t *testing.T) { c.foundWith(t, slots) }

// foundWith makes the workspace, with a plan of so many calls at once.
func (c *crashed) foundWith(t *testing.T, slots int) {
	plan := filepath.Join(c.dir, "plan.json")
	require.NoError(t, os.WriteFile(plan, fmt.Appendf(nil, `{"limited":false,"concurrent_calls":%d}`, slots), 0o600))
	out, err := exec.Command(c.program, append([]string{"workspace", "create", "--name", "Crash", "--plan", plan, "--json"}, c.args...)...).Output()
	require.NoError(t, err)
	var made struct {
		APIKey string `json:"api_key"`
	}
	require.NoError(t, json.Unmarshal(out, &made))
	c.key = made.APIKey
}

func (c *crashed) boot(t *testing.T) {
	c.at = start(t, c.program, append([]string{"serve", "--rate-limit", "0", "--sandbox-speed", crashSpeed,
		"--allow-private-networks", "--webhook-backoff", "500ms"}, c.args...)...)
}

// placeAll places calls to numbers that nobody else gets.
func (c *crashed) placeAll(t *testing.T, round, calls int) {
	for i := range calls {
		body := fmt.Sprintf(`{"to":"+1555%d%06d","agent_id":%q}`, round+1, i, c.agent)
		c.placed = append(c.placed, c.post(t, "/v1/call", body)["data"].(map[string]any)["call_id"].(string))
	}
}

// untilTalking waits until all calls are in progress and each has said something.
func (c *crashed) untilTalking(t *testing.T) {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		require.Less(t, time.Since(began), time.Minute, "the calls do not get going")
		if !slices.ContainsFunc(c.placed, func(id string) bool {
			call := c.get(t, id)
			return call.Status != "in-progress" || call.Transcript == ""
		}) {
			return
		}
	}
}

func (c *crashed) post(t *testing.T, path, body string) map[string]any {
	r := c.do(t, http.MethodPost, path, body)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Less(t, r.StatusCode, 300, string(text))
	var out map[string]any
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

func (c *crashed) do(t *testing.T, method, path, body string) *http.Response {
	req, err := http.NewRequestWithContext(t.Context(), method, c.at.facts["http_url"].(string)+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+c.key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	r, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	return r
}

// ended is what the API tells of a call.
type ended struct {
	ID           string `json:"id"`
	To           string `json:"to"`
	Status       string `json:"status"`
	Duration     *int   `json:"duration"`
	RecordingURL string `json:"recording_url"`
	EndedReason  string `json:"ended_reason"`
	EndedMessage string `json:"ended_message"`
	Transcript   string `json:"transcript"`
}

var active = []string{"queued", "dialing", "in-progress"}

// untilTerminal asks for all calls until none is active. What the dead processes held must be told of within
// truthWithin; calls that were still queued are dialed now and may take their time.
func (c *crashed) untilTerminal(t *testing.T) map[string]ended {
	began := time.Now()
	dialed := c.dialed(t)
	for {
		all := map[string]ended{}
		var open, orphans int
		for skip := 0; ; skip += 200 {
			var page struct {
				Calls []ended `json:"calls"`
			}
			r := c.do(t, http.MethodGet, fmt.Sprintf("/v1/call?take=200&skip=%d", skip), "")
			require.NoError(t, json.NewDecoder(r.Body).Decode(&page))
			r.Body.Close()
			for _, call := range page.Calls {
				all[call.ID] = call
				if slices.Contains(active, call.Status) {
					open++
					if dialed[call.ID] > 0 {
						orphans++
					}
				}
			}
			if len(page.Calls) < 200 {
				break
			}
		}
		if open == 0 {
			t.Logf("%d calls, all ended %.1f s after the restart", len(all), time.Since(began).Seconds())
			return all
		}
		if orphans > 0 {
			require.Less(t, time.Since(began), truthWithin, "%d calls of dead processes are not told of", orphans)
		}
		require.Less(t, time.Since(began), 2*time.Minute, "%d calls never end", open)
		time.Sleep(200 * time.Millisecond)
	}
}

// dialed counts how often each call was dialed, by the file that the sandbox writes before a number rings.
func (c *crashed) dialed(t *testing.T) map[string]int {
	f, err := os.Open(filepath.Join(c.dir, "sandbox-dials.log"))
	require.NoError(t, err)
	defer f.Close()
	counts := map[string]int{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		require.Len(t, fields, 3, "time, call, number: %q", lines.Text())
		counts[fields[1]]++
		counts[fields[2]]++
	}
	return counts
}

func (c *crashed) judge(t *testing.T, calls map[string]ended) {
	require.Len(t, calls, len(c.placed))
	for _, id := range c.placed {
		require.Contains(t, calls, id, "an accepted call has no record")
	}
	dialed := c.dialed(t)
	for key, n := range dialed {
		require.Equal(t, 1, n, "%s was dialed %d times", key, n)
	}
	outcomes := map[string]int{}
	var recorded, spoken, recordedLost, spokenLost int
	for id := range calls {
		call := c.get(t, id)
		outcomes[call.Status+"/"+call.EndedReason]++
		require.NotEmpty(t, call.EndedReason, call)
		require.NotEmpty(t, call.EndedMessage, call)
		lost := call.EndedReason == "worker_lost"
		if !lost {
			require.Equal(t, 1, dialed[id], "%s ended %s without having been dialed", id, call.Status)
		}
		require.Equal(t, lost, call.Status == "failed" && call.EndedReason == "worker_lost")
		if call.RecordingURL != "" {
			recorded++
			if lost {
				recordedLost++
			}
			c.requireRecording(t, call)
		}
		if call.Transcript != "" {
			spoken++
			if lost {
				spokenLost++
			}
		}
		if call.Status == "completed" {
			require.NotNil(t, call.Duration)
			require.NotEmpty(t, call.RecordingURL, "a completed call is recorded")
			require.NotEmpty(t, call.Transcript)
		}
	}
	t.Logf("outcomes %v; %d recordings (%d of lost calls), %d transcripts (%d of lost calls)", outcomes, recorded, recordedLost, spoken, spokenLost)
	require.GreaterOrEqual(t, outcomes["failed/worker_lost"], firstRound)
	require.GreaterOrEqual(t, spokenLost, firstRound, "what was said before the kill is kept")
	require.GreaterOrEqual(t, recordedLost, firstRound, "what was recorded before the kill is kept")
	left, err := filepath.Glob(filepath.Join(c.dir, "spool", "*.wav"))
	require.NoError(t, err)
	require.Empty(t, left, "recordings left behind, of %v", slices.Sorted(maps.Keys(outcomes)))
}

func (c *crashed) get(t *testing.T, id string) ended {
	r := c.do(t, http.MethodGet, "/v1/calls/"+id, "")
	defer r.Body.Close()
	require.Equal(t, http.StatusOK, r.StatusCode)
	var body struct {
		Data ended `json:"data"`
	}
	require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
	return body.Data
}

// requireRecording fetches a recording: a whole WAV file, as long as its header says, and what the agent said is in the
// left channel.
func (c *crashed) requireRecording(t *testing.T, call ended) {
	r := c.do(t, http.MethodGet, "/v1/call/"+call.ID+"/recording", "")
	defer r.Body.Close()
	require.Equal(t, http.StatusOK, r.StatusCode, call.ID)
	file, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, len(file)-8, int(file[4])|int(file[5])<<8|int(file[6])<<16|int(file[7])<<24, "size in the header")
	wav, err := audio.ReadWAV(bytes.NewReader(file))
	require.NoError(t, err)
	require.Len(t, wav.Channels, 2)
	if len(wav.Channels[0]) > 5*audio.Rate {
		require.Greater(t, audio.Power(wav.Channels[0]), 1000.0, "the agent is heard")
	}
}

// inbox receives the webhooks of the killed program.
type inbox struct {
	url string
	mu  sync.Mutex
	got map[string]int // posts by call
}

func newInbox(t *testing.T) *inbox {
	in := &inbox{got: map[string]int{}}
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	in.url = server.URL + "/hook"
	return in
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		CallID     string `json:"call_id"`
		CallStatus string `json:"call_status"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.CallStatus == "" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got[body.CallID]++
}

// judgeDeliveries wants one delivery for each call, confirmed by the receiver, however often the program died in between;
// a post is repeated at most once for each time.
func (c *crashed) judgeDeliveries(t *testing.T) {
	type delivery struct {
		CallID string `json:"call_id"`
		Status string `json:"status"`
	}
	of := map[string][]delivery{}
	require.Eventually(t, func() bool {
		clear(of)
		open := 0
		for offset := 0; ; offset += 200 {
			var page struct {
				Data []delivery `json:"data"`
			}
			r := c.do(t, http.MethodGet, fmt.Sprintf("/v1/webhook-deliveries?limit=200&offset=%d", offset), "")
			require.NoError(t, json.NewDecoder(r.Body).Decode(&page))
			r.Body.Close()
			for _, d := range page.Data {
				of[d.CallID] = append(of[d.CallID], d)
				if d.Status != "delivered" {
					open++
				}
			}
			if len(page.Data) < 200 {
				return open == 0 && len(of) == len(c.placed)
			}
		}
	}, 2*time.Minute, 500*time.Millisecond, "deliveries are missing or not made")
	c.inbox.mu.Lock()
	defer c.inbox.mu.Unlock()
	for _, id := range c.placed {
		require.Len(t, of[id], 1, "one delivery per action and call")
		require.Positive(t, c.inbox.got[id], "call %s was never posted", id)
		require.LessOrEqual(t, c.inbox.got[id], 1+crashes, "call %s", id)
	}
}
