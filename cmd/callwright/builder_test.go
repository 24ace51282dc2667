package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/store/storetest"
)

// build does the steps of a job of the agent builder on a machine that knows no names.
func (w *tenant) build(t *testing.T, id uuid.UUID) error {
	out := egress.New(egress.Config{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no network")
	}}})
	defer out.Close()
	worker := agentbuilder.NewWorker(agentbuilder.Config{DB: w.house.db, Egress: out})
	row, err := agentbuilder.Get(w.ctx(t), w.house.db.Ent(), id)
	require.NoError(t, err)
	steps := []string{agentbuilder.StepRead, agentbuilder.StepWrite}
	if row.WebsiteURL == "" {
		steps = steps[1:]
	}
	for _, step := range steps {
		err := worker.Work(t.Context(), &river.Job[agentbuilder.Build]{
			JobRow: &rivertype.JobRow{Attempt: 1}, Args: agentbuilder.Build{WorkspaceID: w.id, JobID: id, Step: step},
		})
		require.NoError(t, err)
	}
	return nil
}

// A newcomer gives the address of a website and gets an agent that answers for it: without a model, and with one that is
// reached over HTTP.
func TestAWebsiteBecomesAnAgentThatTakesACall(t *testing.T) {
	files := http.FileServer(http.Dir("../../internal/agentbuilder/testdata/restaurant"))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" { // it asks for a second between pages
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	asked := make(chan string, 10)
	language := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct{ Content string }
		}
		if json.NewDecoder(r.Body).Decode(&in) == nil && len(in.Messages) > 1 &&
			strings.Contains(in.Messages[0].Content, "You set up a voice agent") { // the analysis of calls asks too
			asked <- in.Messages[0].Content + "\n" + in.Messages[1].Content
		}
		draft, _ := json.Marshal(`{"name":"Bella","company_name":"Trattoria Bella","role":"Host","personality":"Warm.","goals":["Take bookings"],
			"guardrails":["Repeat each booking"],"tone":"Casual","greeting":"Ciao, Trattoria Bella here, what can I do for you?","language":"en","facts":["Corkage is £8"]}`)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, draft)
	}))
	t.Cleanup(language.Close)
	for _, c := range []struct {
		writer, name, greeting string
		args                   []string
	}{
		{"builtin", "Trattoria Bella Assistant", "Hello, thank you for calling Trattoria Bella. How can I help you?", nil},
		{"test-model", "Bella", "Ciao, Trattoria Bella here, what can I do for you?", []string{"--llm-url", language.URL + "/v1", "--llm-model", "test-model"}},
	} {
		t.Run(c.writer, func(t *testing.T) {
			installations(t, func(t *testing.T, in installation) {
				f, _ := in.dev(t, append([]string{"--allow-private-networks", "--sandbox-speed", "50"}, c.args...)...)
				status, answer := f.do(t, "POST", f.HTTPURL+"/agent-builder", `{"website_url":"`+web.URL+`","instructions":"Mention the courtyard."}`)
				require.Equal(t, http.StatusCreated, status, string(answer))
				var job struct {
					Data struct {
						JobID    string `json:"job_id"`
						Status   string `json:"status"`
						AgentID  string `json:"agent_id"`
						Error    string `json:"error"`
						Progress struct {
							Writer    string            `json:"writer"`
							PagesRead int               `json:"pages_read"`
							Pages     []json.RawMessage `json:"pages"`
						} `json:"progress"`
					} `json:"data"`
				}
				require.NoError(t, json.Unmarshal(answer, &job))
				require.Equal(t, "queued", job.Data.Status)
				require.Eventually(t, func() bool {
					status, answer = f.do(t, "GET", f.HTTPURL+"/agent-builder/"+job.Data.JobID, "")
					require.Equal(t, http.StatusOK, status)
					require.NoError(t, json.Unmarshal(answer, &job))
					return job.Data.Status != "queued" && job.Data.Status != "processing"
				}, time.Minute, 700*time.Millisecond)
				require.Equal(t, "completed", job.Data.Status, job.Data.Error)
				require.Equal(t, c.writer, job.Data.Progress.Writer)
				require.Equal(t, 4, job.Data.Progress.PagesRead)
				require.Len(t, job.Data.Progress.Pages, 4)
				if c.writer != "builtin" {
					prompt := <-asked
					require.Contains(t, prompt, "Mention the courtyard.")
					require.Contains(t, prompt, "Diavola")
				}

				status, answer = f.do(t, "GET", f.APIURL+"/agents/"+job.Data.AgentID, "")
				require.Equal(t, http.StatusOK, status)
				require.Contains(t, string(answer), `"name":"`+c.name+`"`)
				require.Contains(t, string(answer), "Never make anything up")
				status, answer = f.do(t, "POST", f.APIURL+"/call", `{"to":"+15005550006","agent_id":"`+job.Data.AgentID+`"}`)
				require.Equal(t, http.StatusOK, status, string(answer))
				var placed struct {
					Data struct {
						CallID string `json:"call_id"`
					} `json:"data"`
				}
				require.NoError(t, json.Unmarshal(answer, &placed))
				call := f.ended(t, placed.Data.CallID)
				require.Equal(t, "completed", call["status"], call)
				require.Contains(t, call["transcript"], "agent: "+c.greeting)
			})
		})
	}
}

// The program is killed while it reads a site, and once more while the model writes; the next one goes on, and there is
// one agent in the end.
func TestAfterKill9AnAgentBuildGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("kills real processes and waits until they are missed")
	}
	program := built(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		killBuilds(t, program)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		killBuilds(t, program, "--database-url", storetest.PostgresURL(t))
	})
}

func killBuilds(t *testing.T, program string, database ...string) {
	reading, thinking := newGate(), newGate()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<title>Harbor Dental</title><h1>Harbor Dental</h1><p>Open daily.</p><a href="/about">About</a>`)
		case "/about":
			reading.pass(r.Context())
			fmt.Fprint(w, `<h1>About</h1><p>Since 1987.</p>`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(web.Close)
	language := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the connection is not noticed
		thinking.pass(r.Context())
		draft, _ := json.Marshal(`{"name":"Harbor","company_name":"Harbor Dental","role":"Host","personality":"Warm.","goals":["Book"],"guardrails":["Be kind"],
			"tone":"Casual","greeting":"Harbor Dental, hello!","language":"en","facts":[]}`)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, draft)
	}))
	t.Cleanup(language.Close)
	t.Cleanup(reading.open)
	t.Cleanup(thinking.open)

	c := &crashed{program: program, dir: t.TempDir()}
	c.args = append([]string{"--data-dir", c.dir, "--log-level", "error"}, database...)
	c.found(t)
	boot := func() {
		c.at = start(t, program, append([]string{"serve", "--allow-private-networks", "--llm-url", language.URL + "/v1", "--llm-model", "m"}, c.args...)...)
	}
	kill := func() {
		require.NoError(t, c.at.cmd.Process.Kill())
		_ = c.at.cmd.Wait()
	}
	boot()
	job := c.post(t, "/v1/agent-builder", `{"website_url":"`+web.URL+`"}`)["data"].(map[string]any)["job_id"].(string)
	reading.wait(t)
	kill()
	reading.open()
	boot()
	thinking.wait(t)
	kill()
	thinking.open()
	boot()
	require.Eventually(t, func() bool {
		r := c.do(t, http.MethodGet, "/agent-builder/"+job, "")
		defer r.Body.Close()
		var body struct {
			Data struct{ Status, Error string }
		}
		require.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		require.NotEqual(t, "failed", body.Data.Status, body.Data.Error)
		return body.Data.Status == "completed"
	}, time.Minute, 200*time.Millisecond)
	r := c.do(t, http.MethodGet, "/v1/agents", "")
	defer r.Body.Close()
	var page struct {
		Data []struct {
			WelcomeMsg string `json:"welcome_msg"`
		}
	}
	require.NoError(t, json.NewDecoder(r.Body).Decode(&page))
	require.Len(t, page.Data, 1)
	require.Equal(t, "Harbor Dental, hello!", page.Data[0].WelcomeMsg)
	c.at.stop(t)
}

// gate holds requests until it is opened.
type gate struct {
	came, opened chan struct{}
	once         [2]sync.Once
}

func newGate() *gate { return &gate{came: make(chan struct{}), opened: make(chan struct{})} }

func (g *gate) pass(ctx context.Context) {
	g.once[0].Do(func() { close(g.came) })
	select {
	case <-g.opened:
	case <-ctx.Done():
	}
}

func (g *gate) open() { g.once[1].Do(func() { close(g.opened) }) }

func (g *gate) wait(t *testing.T) {
	t.Helper()
	select {
	case <-g.came:
	case <-time.After(time.Minute):
		require.Fail(t, "nobody came")
	}
}
