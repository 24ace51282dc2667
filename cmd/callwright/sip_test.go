package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// scenarios is where sipp's files are.
const scenarios = "../../internal/carrier/sip/testdata/"

// exchange is an installation with a SIP line.
type exchange struct {
	crashed
	sip int // port
}

// openExchange makes an installation with an agent; its trunk is a peer on the loopback.
// Its telephones hum, which sounds like the beep of a mailbox: agents do not mind.
func openExchange(t *testing.T, program string, trunk int) *exchange {
	t.Helper()
	x := &exchange{crashed: crashed{program: program, dir: t.TempDir()}, sip: siptest.FreePort(t)}
	x.args = []string{"--data-dir", x.dir, "--log-level", "warn"}
	x.found(t)
	x.boot(t, trunk)
	r := x.do(t, http.MethodPut, "/v1/workspace", `{"policy":{"calls_per_second":100,"calls_per_number_per_day":100}}`)
	text, _ := io.ReadAll(r.Body)
	r.Body.Close()
	require.Equal(t, http.StatusOK, r.StatusCode, string(text))
	x.agent = x.post(t, "/v1/agents", `{"name":"Nora","welcome_msg":"Hello, this is Nora of Harbor Dental. How are you today?","silence_timeout":60,"voicemail_behavior":"continue"}`)["data"].(map[string]any)["id"].(string)
	return x
}

func (x *exchange) boot(t *testing.T, trunk int) {
	t.Helper()
	x.at = start(t, x.program, append([]string{"serve", "--rate-limit", "0", "--carrier", "sip",
		"--sip-addr", fmt.Sprintf("127.0.0.1:%d", x.sip), "--rtp-ports", "40000-60000",
		"--sip-trunk", fmt.Sprintf("sip://127.0.0.1:%d?name=peer&from=%%2B12125550100", trunk),
		"--allow-private-networks", "--webhook-backoff", "500ms"}, x.args...)...)
}

func (x *exchange) call(t *testing.T, to string) string {
	t.Helper()
	return x.post(t, "/v1/call", fmt.Sprintf(`{"to":%q,"agent_id":%q}`, to, x.agent))["data"].(map[string]any)["call_id"].(string)
}

// until waits until a call stands at a status.
func (x *exchange) until(t *testing.T, id, status string) ended {
	t.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		c := x.get(t, id)
		if c.Status == status {
			return c
		}
		require.Less(t, time.Since(began), 30*time.Second, "the call is %s (%s), not %s", c.Status, c.EndedReason, status)
	}
}

// newest is the id of the newest call.
func (x *exchange) newest(t *testing.T) string {
	t.Helper()
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		r := x.do(t, http.MethodGet, "/v1/call?take=1", "")
		var page struct {
			Calls []ended `json:"calls"`
		}
		err := json.NewDecoder(r.Body).Decode(&page)
		r.Body.Close()
		require.NoError(t, err)
		if len(page.Calls) > 0 {
			return page.Calls[0].ID
		}
		require.Less(t, time.Since(began), 20*time.Second, "no call")
	}
}

// channels is a call's recording: agent and caller.
func (x *exchange) channels(t *testing.T, id string) (agent, caller []int16) {
	t.Helper()
	var file []byte
	require.Eventually(t, func() bool {
		r := x.do(t, http.MethodGet, "/v1/call/"+id+"/recording", "")
		defer r.Body.Close()
		file, _ = io.ReadAll(r.Body)
		return r.StatusCode == http.StatusOK
	}, 10*time.Second, 50*time.Millisecond)
	wav, err := audio.ReadWAV(bytes.NewReader(file))
	require.NoError(t, err)
	require.Len(t, wav.Channels, 2)
	return wav.Channels[0], wav.Channels[1]
}

func TestRealTelephones(t *testing.T) {
	if testing.Short() {
		t.Skip("calls telephones for half a minute")
	}
	siptest.Program(t, "baresip")
	siptest.Program(t, "sipp")
	program := built(t)
	t.Run("are called, and hang up", func(t *testing.T) { t.Parallel(); telephoneHangsUp(t, program) })
	t.Run("are called, and we hang up", func(t *testing.T) { t.Parallel(); weHangUp(t, program) })
	t.Run("call us", func(t *testing.T) { t.Parallel(); telephoneCalls(t, program) })
	t.Run("test conversations stay in the sandbox, and policy binds", func(t *testing.T) { t.Parallel(); policyBinds(t, program) })
	t.Run("are told after kill -9", func(t *testing.T) { t.Parallel(); killed(t, program) })
	t.Run("may finish after SIGTERM", func(t *testing.T) { t.Parallel(); drained(t, program) })
}

func telephoneHangsUp(t *testing.T, program string) {
	hello := filepath.Join(t.TempDir(), "hello.wav") // a short sound and quiet, as people answer
	sound := make([]int16, audio.Samples(time.Minute))
	for i := range audio.Samples(600 * time.Millisecond) {
		sound[audio.Rate/2+i] = int16(rand.IntN(12000) - 6000) // no tone: that would be the beep of a mailbox
	}
	require.NoError(t, os.WriteFile(hello, siptest.WAV(sound), 0o600))
	phone := siptest.StartBaresip(t, siptest.Telephone{Answer: true, Number: "+12125550199", Source: hello})
	x := openExchange(t, program, phone.Port)
	id := x.call(t, "+12125550199")
	phone.Wait(t, "CALL_ESTABLISHED", 0)
	x.until(t, id, "in-progress")
	time.Sleep(4 * time.Second) // the greeting
	phone.Do(t, "hangup", "")
	c := x.until(t, id, "completed")
	require.Equal(t, "customer_hangup", c.EndedReason)
	require.GreaterOrEqual(t, *c.Duration, 2)
	agent, caller := x.channels(t, id)
	require.Greater(t, audio.Power(agent), 1000.0, "the agent is in the left channel; %+v", c)
	require.Greater(t, audio.Power(caller), 1000.0, "the telephone in the right one")
	heard, err := os.ReadFile(phone.Heard(t))
	require.NoError(t, err)
	wav, err := audio.ReadWAV(bytes.NewReader(heard))
	require.NoError(t, err)
	require.Greater(t, audio.Power(wav.Channels[0]), 1000.0, "the telephone heard the agent")
	x.at.stop(t)
}

func weHangUp(t *testing.T, program string) {
	phone := siptest.StartBaresip(t, siptest.Telephone{Answer: true, Number: "+12125550199"})
	x := openExchange(t, program, phone.Port)
	id := x.call(t, "+12125550199")
	phone.Wait(t, "CALL_ESTABLISHED", 0)
	x.until(t, id, "in-progress")
	r := x.do(t, http.MethodPost, "/v1/calls/"+id+"/cancel", "")
	r.Body.Close()
	phone.Wait(t, "CALL_CLOSED", 0)
	require.Equal(t, "canceled", x.until(t, id, "completed").EndedReason)
	x.at.stop(t)
}

func telephoneCalls(t *testing.T, program string) {
	phone := siptest.StartBaresip(t, siptest.Telephone{})
	x := openExchange(t, program, phone.Port)
	x.post(t, "/v1/phone-numbers", fmt.Sprintf(`{"number":"+12125550100","label":"Desk","agent_id":%q,"inbound":true}`, x.agent))
	phone.Do(t, "dial", fmt.Sprintf("sip:+12125550100@127.0.0.1:%d", x.sip))
	phone.Wait(t, "CALL_ESTABLISHED", 0)
	id := x.newest(t)
	x.until(t, id, "in-progress")
	time.Sleep(2 * time.Second)
	phone.Do(t, "hangup", "")
	require.Equal(t, "customer_hangup", x.until(t, id, "completed").EndedReason)
	agent, caller := x.channels(t, id)
	require.Greater(t, audio.Power(agent), 1000.0)
	require.Greater(t, audio.Power(caller), 1000.0)
	siptest.StartSipp(t, scenarios+"uac_call.xml", fmt.Sprintf("127.0.0.1:%d", x.sip), "-s", "+12125550100").Wait()
	siptest.StartSipp(t, scenarios+"uac_404.xml", fmt.Sprintf("127.0.0.1:%d", x.sip), "-s", "+12125550111").Wait()
	second := x.newest(t)
	require.NotEqual(t, id, second)
	require.Equal(t, "customer_hangup", x.until(t, second, "completed").EndedReason)
	x.at.stop(t)
}

func policyBinds(t *testing.T, program string) {
	x := openExchange(t, program, siptest.FreePort(t))
	for to, reason := range map[string]string{"+4930901820": "policy_country", "+19005550199": "policy_number_type"} {
		c := x.until(t, x.call(t, to), "blocked")
		require.Equal(t, reason, c.EndedReason)
	}
	id := x.post(t, "/v1/call", fmt.Sprintf(`{"to":"+15005550002","agent_id":%q,"test":true}`, x.agent))["data"].(map[string]any)["call_id"].(string)
	require.Equal(t, "busy", x.until(t, id, "busy").EndedReason, "the sandbox says so")
	x.at.stop(t)
}

// liveCalls is how many calls are in progress when the process is killed or stopped.
const liveCalls = 20

func (x *exchange) callMany(t *testing.T) (ids []string) {
	t.Helper()
	for i := range liveCalls {
		ids = append(ids, x.call(t, fmt.Sprintf("+1212555%04d", 1000+i)))
	}
	for _, id := range ids {
		x.until(t, id, "in-progress")
	}
	return ids
}

func killed(t *testing.T, program string) {
	peer := siptest.StartSipp(t, scenarios+"uas_answer.xml", "", "-m", fmt.Sprint(liveCalls))
	x := openExchange(t, program, peer.Port)
	x.inbox = newInbox(t)
	x.post(t, "/v1/agents/"+x.agent+"/actions", fmt.Sprintf(`{"type":"webhook","name":"Inbox","url":%q}`, x.inbox.url))
	ids := x.callMany(t)
	require.NoError(t, x.at.cmd.Process.Kill())
	_ = x.at.cmd.Wait()
	x.boot(t, peer.Port)
	restarted := time.Now()
	peer.Wait() // each call got its BYE
	took := time.Since(restarted)
	require.Less(t, took, 15*time.Second)
	for _, id := range ids {
		c := x.until(t, id, "failed")
		require.Equal(t, "worker_lost", c.EndedReason)
	}
	require.Eventually(t, func() bool {
		x.inbox.mu.Lock()
		defer x.inbox.mu.Unlock()
		return len(x.inbox.got) == len(ids)
	}, 30*time.Second, 50*time.Millisecond, "webhooks")
	t.Logf("%d calls were hung up %.1f s after the restart", len(ids), took.Seconds())
	x.at.stop(t)
}

func drained(t *testing.T, program string) {
	text, err := os.ReadFile(scenarios + "uas_hangup.xml")
	require.NoError(t, err)
	slow := filepath.Join(t.TempDir(), "slow.xml")
	require.NoError(t, os.WriteFile(slow, bytes.Replace(text, []byte(`"500"`), []byte(`"8000"`), 1), 0o600))
	peer := siptest.StartSipp(t, slow, "", "-m", fmt.Sprint(liveCalls))
	x := openExchange(t, program, peer.Port)
	ids := x.callMany(t)
	require.NoError(t, x.at.cmd.Process.Signal(syscall.SIGTERM))
	us := fmt.Sprintf("127.0.0.1:%d", x.sip)
	asked := siptest.StartSipp(t, scenarios+"uac_options_503.xml", us)
	called := siptest.StartSipp(t, scenarios+"uac_503.xml", us)
	asked.Wait()
	called.Wait()
	peer.Wait()
	require.NoError(t, x.at.cmd.Wait(), "a stop by signal is no failure")
	x.boot(t, peer.Port)
	for _, id := range ids {
		require.Equal(t, "customer_hangup", x.until(t, id, "completed").EndedReason)
	}
	x.at.stop(t)
}
