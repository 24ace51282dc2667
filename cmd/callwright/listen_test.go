package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// From callwright dev to hearing a call on a page: what a newcomer does in the first minutes.
func TestANewcomerSeesAndHearsACall(t *testing.T) {
	axe := axeCore(t)
	dir := t.TempDir()
	in := installation{dir, []string{"--data-dir", dir}}
	f, _ := in.dev(t, "--sandbox-speed", "20", "--allow-private-networks", "--webhook-backoff", "1h")
	answers := []int{200, 503}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(answers[len(r.URL.Path)%2])
	}))
	t.Cleanup(receiver.Close)
	post := func(method, path, body string) {
		t.Helper()
		status, text := f.do(t, method, f.APIURL+path, body)
		require.Less(t, status, 300, string(text))
	}
	for _, action := range []string{
		`{"type":"webhook","name":"CRM","url":"` + receiver.URL + `/ok"}`,
		`{"type":"webhook","name":"Automation","url":"` + receiver.URL + `/bad"}`,
		`{"type":"success_check","name":"Agreed","icon":"✅","criteria":"sounds good"}`,
		`{"type":"extract_data","name":"New time","format":"text","description":"The time that was agreed on."}`,
	} {
		post("POST", "/agents/"+f.AgentID+"/actions", action)
	}
	post("POST", "/contact", `{"phone":"+15005550006","first_name":"Maria","last_name":"Alvarez"}`)
	plan := filepath.Join(dir, "plan.json")
	require.NoError(t, os.WriteFile(plan, []byte(`{"limited":true,"concurrent_calls":10,"max_call_minutes":60,
		"windows":[{"key":"calls_per_hour","limit":1},{"key":"calls_per_30_days","limit":200}]}`), 0o600))
	in.run(t, "workspace", "plan", f.WorkspaceID, "--file", plan)
	status, body := f.do(t, "POST", f.APIURL+"/call", `{"to":"+15005550006","agent_id":"`+f.AgentID+`","variables":{"name":"Maria"}}`)
	require.Equal(t, 200, status, string(body))
	var placed struct {
		Data struct {
			CallID string `json:"call_id"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal(body, &placed))
	id := placed.Data.CallID
	f.ended(t, id)
	f.requireBothVoices(t, id)
	require.Eventually(t, func() bool {
		_, text := f.do(t, "GET", f.APIURL+"/webhook-deliveries?call_id="+id, "")
		return strings.Count(string(text), `"attempts_made":1`) == 2
	}, 20*time.Second, 50*time.Millisecond)
	status, body = f.do(t, "POST", f.APIURL+"/call-tags", `{"name":"Rescheduled","emoji":"🗓️"}`)
	require.Equal(t, 201, status, string(body))
	post("PUT", "/calls/"+id+"/tag", `{"call_tag_id":"`+regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(string(body))[1]+`"}`)

	b := newBrowser(t, f.HTTPURL)
	b.open(strings.TrimPrefix(f.SetUpURL, f.HTTPURL))
	b.see("#set-up-email")
	b.fill("#set-up-email", "maria@harbor.example")
	b.fill("#set-up-password", horse)
	b.press("form[action='/set-up'] button")
	b.says("Plan use", "Juniper called Maria Alvarez", "Completed")
	g := gallery{b, axe}
	g.look("home-dev")
	b.press("a[href='/calls']")
	g.look("calls")
	b.press("a.row")
	b.says("Juniper called Maria Alvarez", "+15005550006", "Answered by", "A person", "Hi Maria, this is Juniper from Harbor Dental",
		"Summary", "Rescheduled", "Agreed", "New time", "Webhooks", "Delivered on attempt 1", "Attempt 2 of 5", "503")
	b.see("[data-play]")
	g.look("call")

	at := func() float64 {
		seconds, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64]("document.querySelector('audio').currentTime"))
		require.NoError(t, err)
		return seconds
	}
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool]("document.querySelector('audio').readyState >= 1"))
	require.NoError(t, err)
	require.Zero(t, at())
	b.do(chromedp.Click(chromedp.CSS(".turn:nth-child(2) a.turn-time")))
	b.see(".turn:nth-child(2)[data-current]")
	require.Positive(t, at(), "the player is where the line was said")
	_, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool]("document.querySelector('audio').pause(); true"))
	require.NoError(t, err)
	g.look("call-played")
	b.do(chromedp.Click(chromedp.CSS("[data-play]")))
	b.see("[data-playing]")
	require.Empty(t, b.complaints())
}
