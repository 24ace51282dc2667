package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agentbuilder"
	"github.com/callwright/callwright/internal/egress"
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
