package main_test

import (
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// What the person of the sandbox says, and nobody else.
const said = "That sounds good to me"

// receiver keeps what webhooks bring, and repeats it in its answer, as a careless one does.
type receiver struct {
	mu   sync.Mutex
	body []string
	*httptest.Server
}

func newReceiver(t *testing.T) *receiver {
	r := new(receiver)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		text, _ := io.ReadAll(q.Body)
		r.mu.Lock()
		r.body = append(r.body, string(text))
		r.mu.Unlock()
		_, _ = io.WriteString(w, "thanks for: "+said+", and "+string(text))
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) got() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.body, "\n")
}

// A call with the whole program: an agent with a webhook talks with the person of the sandbox, on whom nothing of it may
// be found in the end, on no surface, in no log and in no file, although the receiver repeats all it gets.
func TestWhatMustNotBeKeptIsNowhere(t *testing.T) {
	for name, c := range map[string]struct {
		found []string // how the workspace is made
		days  string   // retention_period of the agent
		// hidden from the beginning, not only once its time is over
		hidden bool
	}{
		"a workspace under HIPAA":           {found: []string{"--hipaa"}, days: "null", hidden: true},
		"an agent that keeps calls no more": {days: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			installations(t, func(t *testing.T, in installation) {
				hook := newReceiver(t)
				w := in.found(t, c.found...)
				serving := []string{"--sandbox-speed", "50", "--allow-private-networks", "--log-level", "debug", "--rate-limit", "0"}
				f, stop := in.serve(t, serving...)
				f.APIKey = w.APIKey
				agent, id := f.talkOnce(t, c.days, hook.URL)
				f.ended(t, id)
				wait(t, func() bool { return hook.got() != "" })
				if c.hidden {
					require.NotContains(t, hook.got(), said)
					require.Contains(t, hook.got(), `"transcript":"No transcript available"`)
					require.Contains(t, hook.got(), `"summary":"No summary available"`)
				} else {
					require.Contains(t, hook.got(), said, "the call was held, and its receiver is told")
				}
				f.requireNothing(t, id, c.hidden)
				if !c.hidden {
					_, text := f.do(t, "GET", f.APIURL+"/calls/"+id, "")
					require.Contains(t, string(text), said)
					status, text := f.do(t, "PUT", f.APIURL+"/agents/"+agent, `{"retention_period":0}`)
					require.Equal(t, 200, status, string(text))
				}
				log := stop()

				// The next start erases what is due.
				f, stop = in.serve(t, serving...)
				f.APIKey = w.APIKey
				wait(t, func() bool {
					_, text := f.do(t, "GET", f.APIURL+"/webhook-deliveries?call_id="+id, "")
					return !strings.Contains(string(text), "thanks for") && strings.Contains(string(text), `"delivered"`)
				})
				f.requireNothing(t, id, true)
				log += stop()
				require.NotContains(t, log, said)
				at := store.Config{DataDir: in.dir}
				if len(in.flags) > 2 {
					at.DatabaseURL = in.flags[3]
				}
				require.NotContains(t, string(storetest.Dump(t, at)), said)
				require.NoError(t, filepath.WalkDir(in.dir, func(path string, d fs.DirEntry, err error) error {
					if err != nil || d.IsDir() {
						return err
					}
					text, err := os.ReadFile(path)
					require.NotContains(t, string(text), said, path)
					require.NotEqual(t, ".wav", filepath.Ext(path), "no recording is left")
					return err
				}))
			})
		})
	}
}

// talkOnce makes an agent with a webhook and calls the person of the sandbox.
func (f devFacts) talkOnce(t *testing.T, days, hook string) (agent, call string) {
	t.Helper()
	make := func(path, body string) string {
		status, text := f.do(t, "POST", f.APIURL+path, body)
		require.Less(t, status, 300, string(text))
		var made struct {
			Data struct {
				ID     string
				CallID string `json:"call_id"`
			}
		}
		require.NoError(t, json.Unmarshal(text, &made))
		return made.Data.ID + made.Data.CallID
	}
	agent = make("/agents", `{"name":"Nora","welcome_msg":"Hello, this is Nora.","retention_period":`+days+`}`)
	make("/agents/"+agent+"/actions", `{"type":"webhook","name":"CRM","url":"`+hook+`"}`)
	make("/agents/"+agent+"/actions", `{"type":"summary","name":"Notes","prompt":"What did they want?"}`)
	make("/agents/"+agent+"/actions", `{"type":"extract_data","name":"Day","format":"text","description":"Which day was agreed"}`)
	return agent, make("/call", `{"to":"+15005550006","agent_id":"`+agent+`"}`)
}

// requireNothing looks at every surface that shows calls.
func (f devFacts) requireNothing(t *testing.T, id string, hidden bool) {
	t.Helper()
	for _, path := range []string{"/call", "/call/" + id, "/calls/" + id, "/webhook-deliveries", "/webhook-deliveries?call_id=" + id} {
		status, text := f.do(t, "GET", f.APIURL+path, "")
		require.Equal(t, 200, status, path)
		if hidden {
			require.NotContains(t, string(text), said, path)
		}
	}
	for tool, args := range map[string]string{"list_calls": `{}`, "get_call": `{"call_id":"` + id + `"}`} {
		r := askHTTP(t, "POST", f.MCPURL, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`}}`,
			map[string]string{"Authorization": "Bearer " + f.APIKey, "Accept": "application/json, text/event-stream"})
		text, err := json.Marshal(r.body)
		require.NoError(t, err)
		require.Equal(t, 200, r.status)
		if hidden {
			require.NotContains(t, string(text), said, tool)
		}
	}
	if hidden {
		status, _ := f.do(t, "GET", f.APIURL+"/call/"+id+"/recording", "")
		require.Equal(t, 404, status)
	}
}

// wait looks again and again until it is true.
func wait(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "it never came")
	}
}
