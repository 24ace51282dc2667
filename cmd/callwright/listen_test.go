package main_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// From callwright dev to hearing a call on a page: what a newcomer does in the first minutes.
func TestANewcomerSeesAndHearsACall(t *testing.T) {
	axe := axeCore(t)
	dir := t.TempDir()
	f, _ := installation{dir, []string{"--data-dir", dir}}.dev(t, "--sandbox-speed", "20")
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

	b := newBrowser(t, f.HTTPURL)
	b.open(strings.TrimPrefix(f.SetUpURL, f.HTTPURL))
	b.see("#set-up-email")
	b.fill("#set-up-email", "maria@harbor.example")
	b.fill("#set-up-password", horse)
	b.press("form[action='/set-up'] button")
	b.says("Plan use", "Juniper called +15005550006", "Completed")
	g := gallery{b, axe}
	g.look("home-dev")
	b.press("a[href='/calls']")
	g.look("calls")
	b.press("a.row")
	b.says("Juniper called +15005550006", "Answered by", "A person", "Hi Maria, this is Juniper from Harbor Dental", "Summary")
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
