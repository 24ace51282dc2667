package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/openai"
)

// events answers with an event stream, as it stands.
func events(text string) func(http.ResponseWriter, asked) {
	return func(w http.ResponseWriter, _ asked) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		io.WriteString(w, text)
	}
}

// piece is one event with a text.
func piece(text string) string {
	content, _ := json.Marshal(text)
	return `data: {"choices":[{"delta":{"content":` + string(content) + `},"finish_reason":null}]}` + "\n\n"
}

const (
	stop   = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done   = "data: [DONE]\n\n"
	nothng = `data: {"choices":[],"usage":{"total_tokens":3}}` + "\n\n"
)

// heard is what came out of a stream.
type heard struct {
	text, finish string
	calls        []string
	err          error
}

func listen(ctx context.Context, c *openai.Client, chat openai.Chat) heard {
	var h heard
	for d, err := range c.Stream(ctx, chat) {
		h.err = err
		h.text += d.Text
		h.finish += d.Finish
		if d.Call != nil {
			h.calls = append(h.calls, fmt.Sprintf("%s %s(%s)", d.Call.ID, d.Call.Name, d.Call.Arguments))
		}
	}
	return h
}

var chat = openai.Chat{Messages: []openai.Message{{Role: openai.RoleUser, Text: "hi"}}}

func TestStreamsOfManyServers(t *testing.T) {
	hello := piece("Hel") + piece("lo")
	call := func(index, id, name, args string) string {
		fields := []string{`"type":"function"`, `"function":{"name":"` + name + `","arguments":` + args + `}`}
		if index != "" {
			fields = append(fields, `"index":`+index)
		}
		if id != "" {
			fields = append(fields, `"id":"`+id+`"`)
		}
		return `data: {"choices":[{"delta":{"tool_calls":[{` + strings.Join(fields, ",") + `}]}}]}` + "\n\n"
	}
	toolStop := `data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"
	cases := map[string]struct {
		stream string
		want   heard
	}{
		"as documented":                {hello + stop + nothng + done, heard{text: "Hello", finish: "stop"}},
		"CRLF":                         {strings.ReplaceAll(hello+stop+done, "\n", "\r\n"), heard{text: "Hello", finish: "stop"}},
		"no empty lines":               {strings.ReplaceAll(hello+stop+done, "\n\n", "\n"), heard{text: "Hello", finish: "stop"}},
		"no space behind data:":        {strings.ReplaceAll(hello+stop+done, "data: ", "data:"), heard{text: "Hello", finish: "stop"}},
		"no [DONE]":                    {hello + stop, heard{text: "Hello", finish: "stop"}},
		"no finish":                    {hello + done, heard{text: "Hello", finish: "stop"}},
		"no line end":                  {hello + strings.TrimSpace(stop), heard{text: "Hello", finish: "stop"}},
		"a mark at the beginning":      {"\ufeff" + hello + stop + done, heard{text: "Hello", finish: "stop"}},
		"comments, many":               {strings.Repeat(": PROCESSING\n\n", 1000) + hello + stop + done, heard{text: "Hello", finish: "stop"}},
		"other fields":                 {"event: message\nid: 7\nretry: 3\n" + hello + stop + done, heard{text: "Hello", finish: "stop"}},
		"choices left out":             {"data: {}\n\n" + nothng + hello + nothng + stop + done, heard{text: "Hello", finish: "stop"}},
		"null for text":                {`data: {"choices":[{"delta":{"role":"assistant","content":null}}]}` + "\n\n" + hello + stop, heard{text: "Hello", finish: "stop"}},
		"text with the end":            {piece("Hel") + `data: {"choices":[{"delta":{"content":"lo"},"finish_reason":"stop"}]}` + "\n\n", heard{text: "Hello", finish: "stop"}},
		"text behind the end":          {hello + stop + piece("!") + done, heard{text: "Hello", finish: "stop"}},
		"cut by length":                {hello + `data: {"choices":[{"delta":{},"finish_reason":"length"}]}` + "\n\n", heard{text: "Hello", finish: "length"}},
		"thoughts":                     {piece("<thi") + piece("nk>I must not say") + piece(" this</thi") + piece("nk>\n\nHel") + piece("lo") + stop, heard{text: "Hello", finish: "stop"}},
		"no thoughts":                  {piece("<") + piece("b>Hello") + stop, heard{text: "<b>Hello", finish: "stop"}},
		"a text that only begins so":   {piece("<thi") + stop, heard{text: "<thi", finish: "stop"}},
		"thoughts without an end":      {piece("<think>hm") + stop, heard{finish: "stop"}},
		"a tool call in pieces":        {call("0", "c1", "book", `""`) + call("0", "", "", `"{\"at\":"`) + call("0", "", "", `"5}"`) + toolStop + done, heard{finish: "tool_calls", calls: []string{`c1 book({"at":5})`}}},
		"two tool calls":               {call("0", "c1", "a", `"{}"`) + call("1", "c2", "b", `"{}"`) + toolStop, heard{finish: "tool_calls", calls: []string{"c1 a({})", "c2 b({})"}}},
		"two calls with one index":     {call("0", "c1", "a", `"{}"`) + call("0", "c2", "b", `"{}"`) + toolStop, heard{finish: "tool_calls", calls: []string{"c1 a({})", "c2 b({})"}}},
		"no index":                     {call("", "c1", "a", `"{"`) + call("", "", "", `"}"`) + call("", "c2", "b", `""`) + toolStop, heard{finish: "tool_calls", calls: []string{"c1 a({})", "c2 b({})"}}},
		"text and a call":              {hello + call("0", "c1", "a", `""`) + toolStop, heard{text: "Hello", finish: "tool_calls", calls: []string{"c1 a({})"}}},
		"arguments that are no JSON":   {hello + call("0", "c1", "a", `"{oops"`) + toolStop, heard{text: "Hello", err: openai.ErrMalformed}},
		"a stream that breaks off":     {hello, heard{text: "Hello", err: openai.ErrUnavailable}},
		"an empty stream":              {"", heard{err: openai.ErrUnavailable}},
		"an error in the middle":       {hello + ": x\n\n" + `data: {"error":{"message":"overloaded","code":"busy"}}` + "\n\n", heard{text: "Hello", err: openai.ErrUnavailable}},
		"an error in another spelling": {hello + `data: { "error" : "overloaded" }` + "\n\n" + done, heard{text: "Hello", err: openai.ErrUnavailable}},
		"an error as a text":           {hello + `data: {"error":"overloaded"}` + "\n\n", heard{text: "Hello", err: openai.ErrUnavailable}},
		"an error that will stay":      {`data: {"error":{"message":"x","code":"insufficient_quota"}}` + "\n\n", heard{err: openai.ErrRefused}},
		"no JSON":                      {hello + "data: <html>\n\n", heard{text: "Hello", err: openai.ErrUnavailable}},
		"an endless event":             {hello + "data: " + strings.Repeat("a", 1<<17), heard{text: "Hello", err: openai.ErrMalformed}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := serve(t, events(tc.stream))
			got := listen(t.Context(), client(t, m.URL, func(c *openai.Config) { c.MaxAnswer = 1 << 16 }), chat)
			require.ErrorIs(t, got.err, tc.want.err)
			got.err, tc.want.err = nil, nil
			require.Equal(t, tc.want, got)
			require.True(t, m.requests()[0].Body.Stream)
		})
	}
}

func TestAServerThatDoesNotStreamIsHeardAtOnce(t *testing.T) {
	m := serve(t, raw(200, `{
		"choices": [{"message": {"role": "assistant", "content": "Hello",
			"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}}]},
			"finish_reason": "tool_calls"}]}`))
	require.Equal(t, heard{text: "Hello", finish: "tool_calls", calls: []string{"c1 a({})"}}, listen(t.Context(), client(t, m.URL), chat))
	m = serve(t, raw(200, `{"error":{"message":"x","code":"model_not_found"}}`))
	require.ErrorIs(t, listen(t.Context(), client(t, m.URL), chat).err, openai.ErrRefused)
}

func TestAStreamIsOpenedAgainButNotContinued(t *testing.T) {
	good := events(piece("Hello") + stop + done)
	cases := map[string]struct {
		answers  []func(http.ResponseWriter, asked)
		err      error
		requests int
	}{
		"busy, then not":       {[]func(http.ResponseWriter, asked){raw(429, `{}`), good}, nil, 2},
		"busy twice":           {[]func(http.ResponseWriter, asked){raw(503, ``)}, openai.ErrUnavailable, 2},
		"refused":              {[]func(http.ResponseWriter, asked){raw(401, `{}`)}, openai.ErrRefused, 1},
		"broken in the middle": {[]func(http.ResponseWriter, asked){events(piece("He")), good}, openai.ErrUnavailable, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m := serve(t, tc.answers...)
			require.ErrorIs(t, listen(t.Context(), client(t, m.URL), chat).err, tc.err)
			require.Len(t, m.requests(), tc.requests)
		})
	}
}

// begins sends a text and then nothing until the client goes away.
func begins(text string) (answer func(http.ResponseWriter, asked), stopped chan struct{}) {
	stopped = make(chan struct{}, 8)
	return func(w http.ResponseWriter, _ asked) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, text)
		w.(http.Flusher).Flush()
		for {
			if _, err := io.WriteString(w, ": still here\n\n"); err != nil {
				stopped <- struct{}{}
				return
			}
			w.(http.Flusher).Flush()
		}
	}, stopped
}

func TestAStreamThatStallsEnds(t *testing.T) {
	answer, _ := begins(piece("Hel"))
	c := client(t, serve(t, answer).URL, func(c *openai.Config) { c.IdleTimeout, c.MaxAnswer = 200*time.Millisecond, 1<<40 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := listen(ctx, c, chat)
	require.Equal(t, "Hel", got.text)
	require.ErrorIs(t, got.err, openai.ErrUnavailable)
	require.NotErrorIs(t, got.err, context.Canceled)
	require.NoError(t, ctx.Err())
}

func TestTheEndIsHeardThoughTheServerHoldsTheLine(t *testing.T) {
	answer, stopped := begins(piece("Hello") + stop)
	c := client(t, serve(t, answer).URL, func(c *openai.Config) { c.IdleTimeout, c.MaxAnswer = 200*time.Millisecond, 1<<40 })
	require.Equal(t, heard{text: "Hello", finish: "stop"}, listen(t.Context(), c, chat))
	<-stopped
}

func TestWhoLeavesTheLoopStopsTheModel(t *testing.T) {
	answer, stopped := begins(piece("Hel"))
	c := client(t, serve(t, answer).URL, func(c *openai.Config) { c.MaxAnswer = 1 << 40 })
	for d, err := range c.Stream(t.Context(), chat) {
		require.NoError(t, err)
		require.Equal(t, "Hel", d.Text)
		break
	}
	<-stopped
}

func TestCancelingStopsTheModel(t *testing.T) {
	answer, stopped := begins(piece("Hel"))
	c := client(t, serve(t, answer).URL, func(c *openai.Config) { c.MaxAnswer = 1 << 40 })
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for _, err := range c.Stream(ctx, chat) {
		cancel(errors.New("barge-in"))
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	require.NotErrorIs(t, last, openai.ErrUnavailable)
	<-stopped
}

func TestTurnsShareAConnection(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, a asked) {
		events(piece("Hello")+stop+nothng+done)(w, a)
		w.(http.Flusher).Flush() // the end of the body comes by itself, after [DONE]
	})
	var connections atomic.Int64
	transport := http.DefaultTransport.(*http.Transport).Clone()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connections.Add(1)
		return dial(ctx, network, address)
	}
	defer transport.CloseIdleConnections()
	c := client(t, m.URL, func(c *openai.Config) { c.Transport = transport })
	for range 3 {
		require.NoError(t, listen(t.Context(), c, chat).err)
	}
	require.EqualValues(t, 1, connections.Load())
}

func TestAChatIsSentAsTheServersWantIt(t *testing.T) {
	m := serve(t, events(piece("Hello")+stop+done))
	got := listen(t.Context(), client(t, m.URL), openai.Chat{
		Messages: []openai.Message{
			{Role: openai.RoleSystem, Text: "You are kind."},
			{Role: openai.RoleAssistant}, // said nothing
			{Role: openai.RoleAssistant, Calls: []openai.ToolCall{{ID: "c1", Name: "book", Arguments: json.RawMessage(`{"at":5}`)}}},
			{Role: openai.RoleTool, CallID: "c1"},
			{Role: openai.RoleUser, Text: "Thanks"},
		},
		Tools:       []openai.Tool{{Name: "book", Description: "Books", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}},
		Temperature: 0.5,
	})
	require.NoError(t, got.err)
	body := m.requests()[0].Body
	require.Len(t, body.Messages, 4, "an empty message is left out")
	require.JSONEq(t, `{"id":"c1","type":"function","function":{"name":"book","arguments":"{\"at\":5}"}}`, string(body.Messages[1].ToolCalls[0]))
	require.Equal(t, "c1", body.Messages[2].ToolCallID)
	require.NotEmpty(t, body.Messages[2].Content, "a result without content is refused by servers")
	require.JSONEq(t, `{"type":"function","function":{"name":"book","description":"Books","parameters":{"type":"object","properties":{}}}}`, string(body.Tools[0]))
	require.InDelta(t, 0.5, *body.Temperature, 1e-6)
}

func TestATemperatureTheModelDoesNotKnowIsLeftOut(t *testing.T) {
	for name, model := range map[string]string{"known to the library": "gpt-5-mini", "known to the server": "other"} {
		m := serve(t, func(w http.ResponseWriter, a asked) {
			if a.Body.Temperature != nil {
				raw(400, `{"error":{"message":"Unsupported value","type":"invalid_request_error","param":"temperature"}}`)(w, a)
				return
			}
			events(piece("Hello")+stop+done)(w, a)
		})
		c := client(t, m.URL, func(c *openai.Config) { c.Model = model })
		warm := chat
		warm.Temperature = 0.5
		require.Equal(t, heard{text: "Hello", finish: "stop"}, listen(t.Context(), c, warm), name)
	}
}
