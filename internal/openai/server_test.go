package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-test-0123456789"

// asked is a request as the server got it.
type asked struct {
	Path, Authorization string
	Body                struct {
		Model           string
		Stream          bool
		Temperature     *float64
		ReasoningEffort string `json:"reasoning_effort"`
		Messages        []struct {
			Role, Content string
			ToolCallID    string            `json:"tool_call_id"`
			ToolCalls     []json.RawMessage `json:"tool_calls"`
		}
		Tools          []json.RawMessage
		ResponseFormat *struct {
			Type       string
			JSONSchema struct {
				Name   string
				Strict bool
				Schema json.RawMessage
			} `json:"json_schema"`
		} `json:"response_format"`
	}
}

func (a asked) format() string {
	if a.Body.ResponseFormat == nil {
		return ""
	}
	return a.Body.ResponseFormat.Type
}

// model is a server that answers by a script: the n-th request gets the n-th answer, later ones the last.
type model struct {
	*httptest.Server
	mu    sync.Mutex
	asked []asked
}

func (m *model) requests() []asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

func serve(t *testing.T, answers ...func(http.ResponseWriter, asked)) *model {
	t.Helper()
	m := new(model)
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{Path: r.URL.Path, Authorization: r.Header.Get("Authorization")}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &a.Body); err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		m.mu.Lock()
		n := len(m.asked)
		m.asked = append(m.asked, a)
		m.mu.Unlock()
		answers[min(n, len(answers)-1)](w, a)
	}))
	t.Cleanup(m.Close)
	return m
}

// client asks a server of a test, with pauses too short to notice.
func client(t *testing.T, url string, change ...func(*openai.Config)) *openai.Client {
	t.Helper()
	config := openai.Config{URL: url + "/v1", Key: key, Model: "test-model", Backoff: time.Millisecond}
	for _, f := range change {
		f(&config)
	}
	c, err := openai.New(config)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// says answers with a text as the model's.
func says(text string) func(http.ResponseWriter, asked) {
	return func(w http.ResponseWriter, _ asked) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"message": map[string]any{"role": "assistant", "content": text}, "finish_reason": "stop",
		}}})
	}
}

// raw answers with a status and a body.
func raw(status int, body string) func(http.ResponseWriter, asked) {
	return func(w http.ResponseWriter, _ asked) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// unless refuses a response format with an answer and otherwise says.
func unless(format string, refuse, otherwise func(http.ResponseWriter, asked)) func(http.ResponseWriter, asked) {
	return func(w http.ResponseWriter, a asked) {
		if a.format() == format {
			refuse(w, a)
			return
		}
		otherwise(w, a)
	}
}

var schema = openai.Schema{Name: "verdict", JSON: json.RawMessage(`{"type":"object","additionalProperties":false,
	"required":["ok","why"],"properties":{"ok":{"type":"boolean"},"why":{"type":["string","null"]}}}`)}

var prompt = openai.Prompt{System: "Judge the call.", User: "Was it a success?", Data: "user: hello"}
