package conversation_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// number is the sandbox number that tests with a callee of their own call.
const number = "+15005559999"

var juniper = conversation.Script{
	AgentName: "Juniper", Company: "Harbor Dental",
	Greeting:  "Hi Maria, this is Juniper from Harbor Dental. Is now a good time?",
	Objective: "your cleaning on Thursday",
}

// call is one call in a test.
type call struct {
	to      string
	callee  *sandbox.Callee // instead of to
	inbound bool
	script  conversation.Script
	speech  conversation.Speech // defaults to the built-in one
	stop    func(stop context.CancelCauseFunc)
	voices  voice.Config // defaults to the placeholder
	speed   float64      // instead of virtual time
	hooks   conversation.Hooks
	line    func(carrier.Leg) carrier.Leg // between the conversation and the leg
}

// outcome is what a test looks at.
type outcome struct {
	conversation.Result
	ended         *carrier.Ended // Dial's, when nobody answered
	agent, caller []int16        // as recorded
	hooked        []conversation.Turn
	fault         error
	transcript    []string
}

// hold has a call in virtual time.
func (c call) hold(t *testing.T) (o outcome) {
	t.Helper()
	have := func(t *testing.T) {
		if c.voices.Patience == 0 {
			c.voices.Placeholder = true
		}
		studio := voice.New(c.voices)
		defer studio.Close()
		callees := map[string]sandbox.Callee{}
		if c.callee != nil {
			c.to, callees[number] = number, *c.callee
		}
		line := sandbox.New(sandbox.Config{Voices: studio, Callees: callees, Speed: c.speed})
		if c.speech == nil {
			c.speech = scripted.New(studio)
		}
		leg := c.leg(t, line, &o)
		if leg == nil {
			return
		}
		leg.Media().Tap(func(tick carrier.Tick) {
			o.agent = append(o.agent, tick.Agent[:]...)
			o.caller = append(o.caller, tick.Caller[:]...)
		})
		ctx, stop := context.WithCancelCause(t.Context())
		defer stop(nil)
		if c.stop != nil {
			go c.stop(stop)
		}
		hook := c.hooks.Turn
		c.hooks.Turn = func(turn conversation.Turn) {
			o.hooked = append(o.hooked, turn)
			if hook != nil {
				hook(turn)
			}
		}
		if c.line != nil {
			leg = c.line(leg)
		}
		o.Result, o.fault = conversation.Run(ctx, leg, c.script, c.speech, c.hooks)
		require.NoError(t, line.Drain(t.Context()), "the leg is hung up")
	}
	if c.speed == 0 {
		synctest.Test(t, have)
	} else {
		have(t)
	}
	for _, turn := range o.Turns {
		o.transcript = append(o.transcript, string(turn.Role)+": "+turn.Content)
	}
	return o
}

func (c call) leg(t *testing.T, line *sandbox.Carrier, o *outcome) carrier.Leg {
	if !c.inbound {
		leg, err := line.Dial(t.Context(), carrier.Request{CallID: "c1", From: "+15005550000", To: c.to}, nil)
		if err != nil {
			o.ended = carrier.EndedOf(err)
			return nil
		}
		return leg
	}
	legs := make(chan carrier.Leg, 1)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go line.Serve(ctx, func(context.Context, carrier.Offer) carrier.Decision {
		return carrier.Decision{Run: func(_ context.Context, leg carrier.Leg) { legs <- leg }}
	})
	synctest.Wait()
	require.NoError(t, line.Ring(t.Context(), number, "+15005550000"))
	cancel()
	return <-legs
}

func energy(pcm []int16) bool { return audio.Power(pcm) > 1000 }

// wellFormed checks what holds for every conversation.
func (o outcome) wellFormed(t *testing.T) {
	t.Helper()
	require.Equal(t, o.Turns, o.hooked, "the hook got every turn in order before Run returned")
	for i, turn := range o.Turns {
		require.Equal(t, i, turn.Seq)
		require.LessOrEqual(t, turn.Start, turn.End)
		require.LessOrEqual(t, turn.End, o.Duration)
		require.GreaterOrEqual(t, turn.Start, time.Duration(0))
		require.NotEmpty(t, turn.Content)
	}
	require.InDelta(t, o.Duration.Seconds(), audio.Duration(len(o.agent)).Seconds(), 0.05, "the recording is as long as the call")
	require.Equal(t, len(o.agent), len(o.caller))
	require.NotEmpty(t, o.Reason)
	require.NotEmpty(t, o.Message)
}

func TestSandboxNumbersThatDoNotAnswer(t *testing.T) {
	for to, want := range map[string]carrier.Ended{
		"+15005550001": {Class: carrier.ClassClient, Reason: "no_answer"},
		"+15005550002": {Class: carrier.ClassClient, Reason: "busy"},
		"+15005550005": {Class: carrier.ClassUpstream, Reason: "carrier_error"},
		"+15005550007": {Class: carrier.ClassClient, Reason: "declined"},
	} {
		o := call{to: to, script: juniper}.hold(t)
		require.NotNil(t, o.ended, to)
		require.Equal(t, want.Reason, o.ended.Reason)
		require.Equal(t, want.Class, o.ended.Class)
	}
}

func TestSandboxNumbersThatAnswer(t *testing.T) {
	t.Run("with the placeholder voices", func(t *testing.T) { everyAnsweringNumber(t, voice.Config{}) })
	t.Run("with real voices", func(t *testing.T) {
		if _, err := exec.LookPath("flite"); err != nil {
			t.Skip("flite is not installed")
		}
		everyAnsweringNumber(t, voice.Config{Patience: time.Minute})
	})
}

func everyAnsweringNumber(t *testing.T, voices voice.Config) {
	const (
		about = "agent: I am calling about the following: your cleaning on Thursday. Is that all right with you?"
		bye   = "agent: Thank you for your time. Goodbye."
		hang  = `function_call: {"arguments":{},"name":"end_call"}`
		offer = "agent: Thank you. I have made a note of that. Is there anything else I can help you with?"
		greet = "agent: Hi Maria, this is Juniper from Harbor Dental. Is now a good time?"
	)
	person := []string{"user: Hello?", greet, "user: Yes, go ahead.", about, "user: That sounds good to me.", offer,
		"user: No, that is all, thank you, goodbye.", bye, hang}
	leave := juniper
	leave.Voicemail, leave.VoicemailMessage = conversation.VoicemailLeaveMessage, "This is Juniper. Please call us back."
	goOn := juniper
	goOn.Voicemail = conversation.VoicemailContinue
	for name, c := range map[string]struct {
		to         string
		script     conversation.Script
		reason     string
		answeredBy string
		transcript []string
		silent     bool // the agent says nothing
	}{
		"0006 is a person who follows the script": {"+15005550006", juniper, "agent_hangup", "human", person, false},
		"any other number is the same person":     {"+14155550123", juniper, "agent_hangup", "human", person, false},
		"0003 is a voicemail, where we hang up":   {"+15005550003", juniper, "voicemail", "voicemail", []string{"user: Hi, you have reached the voicemail"}, true},
		"0003 is a voicemail, where we leave a message after the beep": {"+15005550003", leave, "voicemail", "voicemail", []string{
			"user: Hi, you have reached the voicemail of Maria Lopez. I can not take your call right now. Please leave a message after the tone.",
			"agent: This is Juniper. Please call us back."}, false},
		"0003 is a voicemail, which we may talk to": {"+15005550003", goOn, "customer_hangup", "voicemail", []string{
			"user: Hi, you have reached the voicemail of Maria Lopez. I can not take your call right now. Please leave a message after the tone.",
			greet}, false},
		"0004 is a menu, where we press a key": {"+15005550004", juniper, "agent_hangup", "ivr", []string{
			"user: Thank you for calling Harbor Clinic. For appointments, press 1. For billing, press 2.",
			`function_call: {"arguments":{"digits":"1"},"name":"press_digits"}`, `function_result: {"ok":true}`,
			"user: You are connected to the appointment desk. How can I help you?", greet,
			"user: Yes, I can do that.", about, "user: No, that is all, thank you, goodbye.", bye, hang}, false},
		"0008 screens calls": {"+15005550008", juniper, "agent_hangup", "ivr", []string{
			"user: Hi. The person you are calling is using a screening service. Please say your name and why you are calling.",
			"agent: Hello, this is Juniper from Harbor Dental. I am calling about the following: your cleaning on Thursday.",
			"user: Thank you. Please stay on the line.", "user: Hello, this is Maria.", greet,
			"user: Yes, go ahead.", about, "user: That sounds good to me.", offer,
			"user: No, that is all, thank you, goodbye.", bye, hang}, false},
		"0009 hangs up in mid-sentence": {"+15005550009", juniper, "customer_hangup", "human", []string{
			"user: Hello?", greet, "user: Sorry, I can not really talk right now because I"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := call{to: c.to, script: c.script, voices: voices}.hold(t)
			o.wellFormed(t)
			require.NoError(t, o.fault)
			require.Equal(t, c.transcript, o.transcript)
			require.Equal(t, c.reason, o.Reason)
			require.Equal(t, c.answeredBy, o.AnsweredBy)
			require.Equal(t, carrier.ClassSuccess, o.Class)
			require.NotEmpty(t, o.Verdict)
			require.Equal(t, !c.silent, energy(o.agent), "sound of the agent in the recording")
			require.True(t, energy(o.caller), "sound of the callee in the recording")
			require.Less(t, o.Duration, 60*time.Second)
		})
	}
}

func TestAFastSandboxGivesTheSameTalk(t *testing.T) {
	for _, to := range []string{"+15005550003", "+15005550004", "+15005550006", "+15005550008", "+15005550009"} {
		slow := call{to: to, script: juniper}.hold(t)
		for _, speed := range []float64{100, 1e6} {
			fast := call{to: to, script: juniper, speed: speed}.hold(t)
			fast.wellFormed(t)
			require.Equal(t, slow.transcript, fast.transcript, "%s at speed %v", to, speed)
			require.Equal(t, slow.Reason, fast.Reason)
			require.InDelta(t, slow.Duration.Seconds(), fast.Duration.Seconds(), 1)
		}
	}
}

func TestThePersonOfTheSandboxTalksForHalfAMinute(t *testing.T) {
	o := call{to: "+15005550006", script: juniper}.hold(t)
	require.Greater(t, o.Duration, 18*time.Second)
	require.Less(t, o.Duration, 40*time.Second)
	require.Len(t, o.Latency.Turns, 4)
	require.LessOrEqual(t, o.Latency.TurnMax, 600*time.Millisecond)
	require.LessOrEqual(t, o.Latency.TurnP50, 500*time.Millisecond)
	require.Less(t, o.Latency.Greeting, 2*time.Second)
	// What the recording has is what the turns say.
	for _, turn := range o.Turns {
		channel := o.agent
		if turn.Role == conversation.RoleUser {
			channel = o.caller
		}
		if turn.Start < turn.End {
			require.True(t, energy(channel[audio.Samples(turn.Start):audio.Samples(turn.End)]), "%+v", turn)
		}
	}
}

// says is a callee with these steps that then stays on the line in silence.
func says(steps ...sandbox.Step) *sandbox.Callee {
	return &sandbox.Callee{Steps: append(steps, sandbox.Step{Wait: 24 * time.Hour})}
}

func hears(say string) sandbox.Step { return sandbox.Step{Hear: 800 * time.Millisecond, Say: say} }

func TestInboundCallsAreGreetedAtOnce(t *testing.T) {
	o := call{inbound: true, script: juniper}.hold(t)
	o.wellFormed(t)
	require.Equal(t, "human", o.AnsweredBy)
	require.Equal(t, "agent: "+juniper.Greeting, o.transcript[0])
	require.LessOrEqual(t, o.Latency.Greeting, 60*time.Millisecond)
	require.Equal(t, "agent_hangup", o.Reason)
}

func TestSilence(t *testing.T) {
	quiet := juniper
	quiet.SilenceTimeout = 12 * time.Second
	t.Run("a line that is silent from the start is greeted and then hung up", func(t *testing.T) {
		o := call{callee: says(), script: quiet}.hold(t)
		o.wellFormed(t)
		require.Equal(t, []string{"agent: " + juniper.Greeting}, o.transcript)
		require.Equal(t, "silence_timeout", o.Reason)
		require.Empty(t, o.AnsweredBy, "nobody made a sound")
		require.InDelta(t, 2.5, o.Turns[0].Start.Seconds(), 0.1)
		require.InDelta(t, 12, (o.Duration - o.Turns[0].End).Seconds(), 0.1)
	})
	t.Run("counts from the last word of either side", func(t *testing.T) {
		o := call{callee: says(hears("Yes, go ahead.")), script: quiet}.hold(t)
		last := o.Turns[len(o.Turns)-1]
		require.Equal(t, conversation.RoleAgent, last.Role)
		require.InDelta(t, 12, (o.Duration - last.End).Seconds(), 0.1)
	})
	t.Run("may be turned off", func(t *testing.T) {
		off := juniper
		off.SilenceTimeout, off.Limit = -1, 3*time.Minute
		o := call{callee: says(), script: off}.hold(t)
		require.Equal(t, "max_duration", o.Reason)
	})
	t.Run("is thirty seconds when nothing is set", func(t *testing.T) {
		o := call{callee: says(), script: juniper}.hold(t)
		require.InDelta(t, 30, (o.Duration - o.Turns[0].End).Seconds(), 0.1)
	})
	t.Run("an idle reminder is said once and does not lengthen it", func(t *testing.T) {
		idle := quiet
		idle.IdleReminder, idle.IdleAfter = "Are you still there?", 5*time.Second
		o := call{callee: says(), script: idle}.hold(t)
		o.wellFormed(t)
		require.Equal(t, []string{"agent: " + juniper.Greeting, "agent: Are you still there?"}, o.transcript)
		require.InDelta(t, 5, (o.Turns[1].Start - o.Turns[0].End).Seconds(), 0.1)
		require.InDelta(t, 12, (o.Duration - o.Turns[0].End).Seconds(), 0.1)
	})
	t.Run("each silence has its reminder", func(t *testing.T) {
		idle := quiet
		idle.IdleReminder, idle.IdleAfter = "Are you still there?", 5*time.Second
		o := call{callee: says(sandbox.Step{Wait: 13 * time.Second, Say: "Yes, I am here."}), script: idle}.hold(t)
		require.Equal(t, 2, strings.Count(strings.Join(o.transcript, "\n"), "still there"))
	})
}

func TestLimits(t *testing.T) {
	goals := juniper
	goals.Goals = []string{"one", "two", "three", "four", "five"}
	for name, c := range map[string]struct {
		limit, plan time.Duration
		want        time.Duration
		warned      bool
	}{
		"the agent's limit":              {70 * time.Second, 0, 70 * time.Second, true},
		"the plan's limit":               {0, 70 * time.Second, 70 * time.Second, true},
		"the shorter of the two":         {5 * time.Minute, 65 * time.Second, 65 * time.Second, true},
		"no warning in very short calls": {20 * time.Second, 0, 20 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := goals
			s.Limit, s.PlanLimit, s.SilenceTimeout = c.limit, c.plan, -1
			o := call{callee: says(hears("Yes."), hears("Well."), hears("Hm.")), script: s}.hold(t)
			o.wellFormed(t)
			require.Equal(t, "max_duration", o.Reason)
			require.Equal(t, c.want, o.Duration)
			warning := strings.Contains(strings.Join(o.transcript, "\n"), "about thirty seconds left")
			require.Equal(t, c.warned, warning)
			for _, turn := range o.Turns {
				if strings.Contains(turn.Content, "thirty seconds") {
					require.InDelta(t, (c.want - 30*time.Second).Seconds(), turn.Start.Seconds(), 5)
				}
			}
		})
	}
}

func TestTenMinutesInVirtualTime(t *testing.T) {
	s := juniper
	s.SilenceTimeout, s.Limit = -1, 10*time.Minute
	s.IdleReminder, s.IdleAfter = "Are you still there?", time.Minute
	began := time.Now()
	o := call{callee: says(hears("Yes.")), script: s}.hold(t)
	o.wellFormed(t)
	require.Equal(t, 10*time.Minute, o.Duration)
	t.Logf("ten minutes took %v", time.Since(began).Round(time.Millisecond))
}

func TestBargeIn(t *testing.T) {
	long := juniper
	long.Greeting = "Hi Maria, this is Juniper from Harbor Dental. I am calling to remind you of your cleaning on Thursday at two fifteen in the afternoon with Doctor Miller."
	interrupts := says(sandbox.Step{Onset: 3 * time.Second, Say: "Wait, who is this please?"})
	t.Run("silences the agent within 300 ms of the onset and keeps what was heard", func(t *testing.T) {
		o := call{callee: interrupts, script: long}.hold(t)
		o.wellFormed(t)
		cut, user := o.Turns[0], o.Turns[1]
		require.True(t, cut.Interrupted)
		require.True(t, strings.HasPrefix(long.Greeting, cut.Content), cut.Content)
		require.Less(t, len(cut.Content), len(long.Greeting)*2/3)
		require.Equal(t, "Wait, who is this please?", user.Content)
		require.Less(t, cut.Start, user.Start)
		require.LessOrEqual(t, cut.End-user.Start, 300*time.Millisecond)
		after := o.agent[audio.Samples(user.Start+300*time.Millisecond):audio.Samples(user.End)]
		require.Zero(t, audio.Power(after), "the agent is silent while the other side speaks on")
		require.Equal(t, conversation.RoleAgent, o.Turns[2].Role, "and answers then")
	})
	t.Run("is not for a greeting that must be heard", func(t *testing.T) {
		fixed := long
		fixed.GreetingFixed = true
		o := call{callee: interrupts, script: fixed}.hold(t)
		o.wellFormed(t)
		require.Equal(t, "agent: "+long.Greeting, o.transcript[0])
		require.False(t, o.Turns[0].Interrupted)
		require.Equal(t, "user: Wait, who is this please?", o.transcript[1])
		require.Equal(t, conversation.RoleAgent, o.Turns[2].Role, "what was said into it is answered after it")
	})
	t.Run("is not for words that show attention", func(t *testing.T) {
		o := call{callee: says(sandbox.Step{Onset: 2 * time.Second, Say: "Mhm."}), script: long}.hold(t)
		o.wellFormed(t)
		require.Equal(t, []string{"agent: " + long.Greeting, "user: Mhm."}, o.transcript)
	})
	t.Run("by a noise lets the agent go on with the rest", func(t *testing.T) {
		noise := audio.Tone(200, 0.2, 300*time.Millisecond)
		o := call{callee: says(sandbox.Step{Wait: 400 * time.Millisecond, Say: "Hello?"}, sandbox.Step{Onset: 3 * time.Second, Tone: noise}), script: long}.hold(t)
		o.wellFormed(t)
		require.Len(t, o.Turns, 3)
		require.True(t, o.Turns[1].Interrupted)
		require.Equal(t, long.Greeting, o.Turns[1].Content+" "+o.Turns[2].Content)
	})
}

func TestStop(t *testing.T) {
	after := func(d time.Duration, cause error) func(context.CancelCauseFunc) {
		return func(stop context.CancelCauseFunc) {
			time.Sleep(d) // virtual time
			stop(cause)
		}
	}
	for name, d := range map[string]time.Duration{
		"before the first frame": 0, "while nobody has spoken": 200 * time.Millisecond, "in the callee's hello": 700 * time.Millisecond,
		"in the greeting": 3 * time.Second, "in the callee's answer": 6800 * time.Millisecond, "late": 15 * time.Second,
	} {
		t.Run("cancel "+name+" hangs up", func(t *testing.T) {
			o := call{to: "+15005550006", script: juniper, stop: after(d, nil)}.hold(t)
			o.wellFormed(t)
			require.Equal(t, "canceled", o.Reason)
			require.InDelta(t, d.Seconds(), o.Duration.Seconds(), 0.05)
		})
	}
	t.Run("cancel while a voicemail talks", func(t *testing.T) {
		s := juniper
		s.Voicemail = conversation.VoicemailLeaveMessage
		o := call{to: "+15005550003", script: s, stop: after(4*time.Second, nil)}.hold(t)
		require.Equal(t, "canceled", o.Reason)
	})
	t.Run("a stop has its reason and may say goodbye", func(t *testing.T) {
		stop := &conversation.Stop{Reason: "worker_draining", Message: "We had to stop.", Class: carrier.ClassServer, Say: "I am sorry, I have to go."}
		o := call{to: "+15005550006", script: juniper, stop: after(3*time.Second, stop)}.hold(t)
		o.wellFormed(t)
		require.Equal(t, "worker_draining", o.Reason)
		require.Equal(t, "We had to stop.", o.Message)
		require.Equal(t, carrier.ClassServer, o.Class)
		require.Equal(t, "agent: I am sorry, I have to go.", o.transcript[len(o.transcript)-1])
		require.False(t, o.Turns[len(o.Turns)-1].Interrupted)
	})
}

func TestASlowHookDoesNotTouchTheTalk(t *testing.T) {
	o := call{to: "+15005550006", script: juniper, hooks: conversation.Hooks{Turn: func(conversation.Turn) {
		time.Sleep(20 * time.Second) // virtual time
	}}}.hold(t)
	o.wellFormed(t)
	require.Less(t, o.Duration, 40*time.Second)
	require.Equal(t, "agent_hangup", o.Reason)
}
