package realtime_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/realtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const number = "+15005559999"

var juniper = conversation.Script{
	CallID: "c1", AgentName: "Juniper", Company: "Harbor Dental", Prompt: "You are Juniper.",
	Greeting: "Hi Maria, this is Juniper from Harbor Dental. Is now a good time?",
}

// outcome is what a test looks at.
type outcome struct {
	conversation.Result
	fault      error
	transcript []string
	agent      []int16
	caller     []int16
	sittings   []*sitting
	writing    []*sitting
	said       []string
}

func (o outcome) all() string { return strings.Join(o.transcript, "\n") }

// hums is a callee that speaks without captions, as a line does: it hums so many words when the agent has finished.
func hums(first string, rest ...string) sandbox.Callee {
	steps := []sandbox.Step{{Wait: 400 * time.Millisecond, Tone: hum("kal", first)}}
	for _, text := range rest {
		steps = append(steps, sandbox.Step{Hear: 800 * time.Millisecond, Tone: hum("kal", text)})
	}
	return sandbox.Callee{Steps: append(steps, sandbox.Step{Wait: time.Hour})}
}

// hold has a call in virtual time with a server.
func hold(t *testing.T, callee sandbox.Callee, script conversation.Script, prepare func(*server)) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		if prepare != nil {
			prepare(s)
		}
		speech, err := realtime.New(realtime.Config{URL: "ws://models.example/v1", Key: "sk-test", Model: "gpt-realtime-test", Transport: s.transport()})
		require.NoError(t, err)
		line := sandbox.New(sandbox.Config{Callees: map[string]sandbox.Callee{number: callee}})
		speech.Warm(t.Context(), script)
		leg, err := line.Dial(t.Context(), carrier.Request{CallID: "c1", To: number}, nil)
		require.NoError(t, err)
		leg.Media().Tap(func(tick carrier.Tick) {
			o.agent = append(o.agent, tick.Agent[:]...)
			o.caller = append(o.caller, tick.Caller[:]...)
		})
		o.Result, o.fault = conversation.Run(t.Context(), leg, script, speech, conversation.Hooks{})
		o.sittings, o.writing = s.all(false), s.all(true)
		speech.Close()
		s.close()
		for _, sit := range o.sittings {
			for _, e := range sit.errors {
				t.Logf("the server refused: %v", e)
			}
		}
		o.said = s.said
	})
	for _, turn := range o.Turns {
		o.transcript = append(o.transcript, string(turn.Role)+": "+turn.Content)
	}
	for i, turn := range o.Turns {
		require.Equal(t, i, turn.Seq)
		require.LessOrEqual(t, turn.Start, turn.End)
		require.LessOrEqual(t, turn.End, o.Duration)
	}
	return o
}

func (o outcome) refusals() (codes []string) {
	for _, sit := range o.sittings {
		for _, e := range sit.errors {
			codes = append(codes, e["code"].(string))
		}
	}
	return codes
}

func TestACallOverTheRealtimeProtocol(t *testing.T) {
	o := hold(t, hums("Hello?", "Yes, go ahead please.", "That sounds good to me."), juniper, func(s *server) {
		s.think = func(n int, _ *sitting) answer {
			if n == 0 {
				return answer{text: "I am calling about your cleaning on Thursday. Does it suit you?"}
			}
			return answer{text: "Wonderful, see you then. Goodbye.", tool: "end_call"}
		}
	})
	require.NoError(t, o.fault)
	require.Equal(t, []string{
		"user: This is utterance number 1.", "agent: " + juniper.Greeting,
		"user: This is utterance number 2.", "agent: I am calling about your cleaning on Thursday. Does it suit you?",
		"user: This is utterance number 3.", "agent: Wonderful, see you then. Goodbye.",
		`function_call: {"arguments":{},"name":"end_call"}`,
	}, o.transcript)
	require.Equal(t, "agent_hangup", o.Reason)
	require.Equal(t, "human", o.AnsweredBy)
	require.Empty(t, o.refusals())
	require.Len(t, o.sittings, 1, "one connection, made while it rang")
	for _, turn := range o.Turns {
		channel := o.agent
		if turn.Role == conversation.RoleUser {
			channel = o.caller
		}
		if turn.End > turn.Start {
			require.Greater(t, audio.Power(channel[audio.Samples(turn.Start):audio.Samples(turn.End)]), 1000.0, turn.Content)
		}
	}
	require.Less(t, o.Latency.TurnMax, 1300*time.Millisecond)
}

func TestTheSessionIsWhatTheAgentsSettingsSay(t *testing.T) {
	script := juniper
	script.Language, script.VoiceID, script.SpeakingRate = "de-AT", "marin", 1.2
	script.Transfers = map[string]string{"desk": "+15550001111"}
	o := hold(t, hums("Hallo?"), script, nil)
	session := o.sittings[0].session
	require.Equal(t, "marin", text(session, "audio", "output", "voice"))
	require.Equal(t, 1.2, at(session, "audio", "output", "speed"))
	require.Equal(t, "de", text(session, "audio", "input", "transcription", "language"))
	require.Contains(t, text(session, "instructions"), "You are Juniper.")
	var names []string
	for _, tool := range session["tools"].([]any) {
		names = append(names, text(tool, "name"))
	}
	require.ElementsMatch(t, []string{"end_call", "press_digits", "transfer_call"}, names)
	require.Equal(t, "Bearer sk-test", o.sittings[0].headers.Get("Authorization"))
	t.Run("a voice that the server does not have does not cost the call", func(t *testing.T) {
		o := hold(t, hums("Hello?"), script, func(s *server) { s.odd.refuseVoice = true })
		require.Contains(t, o.all(), "agent: "+juniper.Greeting)
		require.Empty(t, text(o.sittings[0].session, "audio", "output", "voice"))
		require.NoError(t, o.fault)
	})
}

func TestBargeInCutsTheItemWhereItWasPlayed(t *testing.T) {
	interruption := hum("kal", "Wait a moment, who are you and what is it about?")
	callee := hums("Hello?")
	callee.Steps = append(callee.Steps[:1], sandbox.Step{Onset: 1500 * time.Millisecond, Tone: interruption}, sandbox.Step{Wait: time.Hour})
	script := juniper
	script.Greeting = "Hi Maria, this is Juniper from Harbor Dental. I am calling to remind you of your cleaning on Thursday at a quarter past two with Doctor Miller."
	o := hold(t, callee, script, nil)
	require.NoError(t, o.fault)
	require.Empty(t, o.refusals())
	greeting := o.Turns[1]
	require.True(t, greeting.Interrupted)
	require.True(t, strings.HasPrefix(script.Greeting, greeting.Content), greeting.Content)
	require.Less(t, len(greeting.Content), len(script.Greeting)/2)
	kept := o.sittings[0].transcript()
	require.Equal(t, "user: This is utterance number 1.", kept[0])
	var ms int
	for _, it := range o.sittings[0].items {
		if it.cut {
			ms = it.sound
		}
	}
	played := (greeting.End - greeting.Start).Milliseconds()
	require.InDelta(t, played, ms, 21, "cut at the millisecond that was played")
	require.Equal(t, "agent: This is my answer number 1.", o.transcript[3])
	// After the interruption the line is silent until the answer.
	require.Less(t, audio.Power(o.agent[audio.Samples(greeting.End+20*time.Millisecond):audio.Samples(o.Turns[3].Start)]), 1.0)
}

func TestToolsOfTheRealtimeModel(t *testing.T) {
	t.Run("a tool's result goes back, and the model goes on", func(t *testing.T) {
		o := hold(t, hums("Hello?", "Connect me please."), juniper, func(s *server) {
			s.think = func(n int, sit *sitting) answer {
				if n == 0 {
					return answer{text: "One moment.", tool: "transfer_call", args: `{"to":"nobody"}`}
				}
				return answer{text: "I can not connect you."}
			}
		})
		require.NoError(t, o.fault)
		require.Empty(t, o.refusals())
		require.Contains(t, o.all(), `function_call: {"arguments":{"to":"nobody"},"name":"transfer_call"}`)
		require.Contains(t, o.all(), `function_result: {"error":`)
		require.Contains(t, o.all(), "One moment. I can not connect you.", "one turn of the agent")
		require.Equal(t, 1, strings.Count(o.all(), "function_call:"), "a call is told three times and made once")
	})
	t.Run("after a key the machine speaks next", func(t *testing.T) {
		callee := hums("Welcome. For sales, press one. For support, press two.")
		pressed := hum("kal", "You are connected.")
		callee.Steps = append(callee.Steps[:1], sandbox.Step{Menu: map[byte][]sandbox.Step{'2': {{Tone: pressed}, {Wait: time.Hour}}}, Patience: time.Minute})
		o := hold(t, callee, juniper, func(s *server) {
			s.heard = func(n int) string {
				return []string{"Welcome. For sales, press one. For support, press two.", "You are connected."}[min(n, 1)]
			}
			s.think = func(n int, _ *sitting) answer {
				if n == 0 {
					return answer{tool: "press_digits", args: `{"digits":"2"}`}
				}
				return answer{text: "Hello, I need support."}
			}
		})
		require.NoError(t, o.fault)
		require.Equal(t, "ivr", o.AnsweredBy)
		require.Equal(t, []string{
			"user: Welcome. For sales, press one. For support, press two.",
			`function_call: {"arguments":{"digits":"2"},"name":"press_digits"}`, `function_result: {"ok":true}`,
			"user: You are connected.", "agent: Hello, I need support.",
		}, o.transcript[:5])
		require.Contains(t, text(o.sittings[0].session, "instructions"), "automatic menu", "the model knows who is on the line")
	})
}

const apology = "agent: I am sorry, I am having technical difficulties. Please try again later. Goodbye."

func TestFaultsOfTheRealtimeServer(t *testing.T) {
	t.Run("a connection that breaks while nobody speaks is replaced, and the model knows what was said", func(t *testing.T) {
		o := hold(t, hums("Hello?", "Yes, go ahead please."), juniper, func(s *server) { s.odd.dropIdle = 1 })
		require.NoError(t, o.fault)
		require.Len(t, o.sittings, 2)
		require.Equal(t, []string{"user: This is utterance number 1.", "assistant: " + juniper.Greeting, "user: This is utterance number 2.",
			"assistant: This is my answer number 1."}, o.sittings[1].transcript())
		require.Equal(t, "agent: This is my answer number 1.", o.transcript[3])
		require.Equal(t, "silence_timeout", o.Reason)
	})
	t.Run("a failed response is asked for again on a fresh connection", func(t *testing.T) {
		o := hold(t, hums("Hello?", "Yes, go ahead please."), juniper, func(s *server) {
			var first *sitting
			s.think = func(_ int, at *sitting) answer {
				if first == nil {
					first = at
				}
				if at == first { // the early one, and the one that may be asked for then
					return answer{fail: "server_error"}
				}
				return answer{text: "Here I am again."}
			}
		})
		require.Error(t, o.fault, "told for the log")
		require.Len(t, o.sittings, 2)
		require.Equal(t, []string{"user: This is utterance number 1.", "assistant: " + juniper.Greeting, "user: This is utterance number 2.",
			"assistant: Here I am again."}, o.sittings[1].transcript())
		require.NotContains(t, o.transcript, apology)
		require.Equal(t, "silence_timeout", o.Reason)
	})
	for name, prepare := range map[string]func(*server){
		"responses that always fail":             func(s *server) { s.think = func(int, *sitting) answer { return answer{fail: "server_error"} } },
		"empty responses":                        func(s *server) { s.think = func(int, *sitting) answer { return answer{} } },
		"a server that never answers":            func(s *server) { s.odd.deaf = true },
		"a server that is slow beyond patience":  func(s *server) { s.odd.slow = time.Minute },
		"a server that lets nobody in":           func(s *server) { s.odd.refuseHandshake = 401 },
		"a connection that breaks in mid-speech": func(s *server) { s.odd.dropAfter = 1 },
		"a model that calls tools for ever": func(s *server) {
			s.think = func(int, *sitting) answer { return answer{tool: "wibble", args: "{}"} }
		},
	} {
		t.Run(name+": an apology and an honest reason", func(t *testing.T) {
			o := hold(t, hums("Hello?", "Yes, go ahead please."), juniper, prepare)
			require.Error(t, o.fault)
			require.Equal(t, "provider_error", o.Reason)
			require.Equal(t, carrier.ClassUpstream, o.Class)
			require.Equal(t, apology, o.transcript[len(o.transcript)-1])
			last := o.Turns[len(o.Turns)-1]
			require.Greater(t, audio.Power(o.agent[audio.Samples(last.Start):audio.Samples(last.End)]), 1000.0, "it was heard")
			require.Less(t, o.Duration, 90*time.Second)
			require.NotContains(t, o.fault.Error(), "sk-test")
		})
	}
}

func TestServersThatDeviate(t *testing.T) {
	for name, odd := range map[string]oddities{
		"no confirmation of the settings": {silentSession: true},
		"older names of the events":       {oldNames: true},
		"no ids":                          {noIDs: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := hold(t, hums("Hello?", "Yes, go ahead please."), juniper, func(s *server) { s.odd = odd })
			require.NoError(t, o.fault)
			require.Equal(t, []string{"user: This is utterance number 1.", "agent: " + juniper.Greeting,
				"user: This is utterance number 2.", "agent: This is my answer number 1."}, o.transcript)
		})
	}
	t.Run("no transcripts: the model hears all the same", func(t *testing.T) {
		o := hold(t, hums("Hello?", "Yes, go ahead please."), juniper, func(s *server) { s.odd.noTranscript = true })
		require.NoError(t, o.fault)
		require.Equal(t, []string{"user: (not transcribed)", "agent: " + juniper.Greeting,
			"user: (not transcribed)", "agent: This is my answer number 1."}, o.transcript)
	})
	t.Run("a transcript that failed", func(t *testing.T) {
		o := hold(t, hums("Hello?", "Yes, go ahead please."), juniper, func(s *server) {
			s.heard = func(n int) string { return []string{"Hello?", "FAILED"}[min(n, 1)] }
		})
		require.NoError(t, o.fault)
		require.Equal(t, "user: (not transcribed)", o.transcript[2])
		require.Equal(t, "agent: This is my answer number 1.", o.transcript[3])
	})
}

func TestAnswersAreMadeWhileTheTranscriptIs(t *testing.T) {
	o := hold(t, hums("Hello?", "Yes, go ahead please.", "That sounds good to me."), juniper, nil)
	require.NoError(t, o.fault)
	require.Empty(t, o.refusals())
	// The pause is 700 ms, the transcript comes after 150, the first sound of a response after 150: not one after the other.
	for _, took := range o.Latency.Turns[1:] {
		require.LessOrEqual(t, took, 940*time.Millisecond)
	}
	t.Run("and their tools wait until they are wanted", func(t *testing.T) {
		o := hold(t, hums("Hello?", "hum hum hum", "Goodbye."), juniper, func(s *server) {
			s.heard = func(n int) string { return []string{"Hello?", "", "Goodbye."}[min(n, 2)] }
			s.think = func(n int, _ *sitting) answer {
				return answer{text: fmt.Sprintf("Farewell %d.", n), tool: "end_call"}
			}
		})
		require.NoError(t, o.fault)
		require.Equal(t, []string{"user: Hello?", "agent: " + juniper.Greeting}, o.transcript[:2])
		require.Equal(t, "silence_timeout", o.Reason, "the answer to noise, which hangs up, is not wanted")
	})
	t.Run("and what nobody wanted is forgotten", func(t *testing.T) {
		// A word of attention while the agent speaks is no turn.
		script := juniper
		script.Greeting = "Hi Maria, this is Juniper from Harbor Dental. I am calling to remind you of your cleaning on Thursday at a quarter past two with Doctor Miller, in our new rooms."
		callee := hums("Hello?")
		callee.Steps = append(callee.Steps[:1], sandbox.Step{Onset: 800 * time.Millisecond, Tone: hum("kal", "Hm.")},
			sandbox.Step{Hear: 900 * time.Millisecond, Tone: hum("kal", "What do you want?")}, sandbox.Step{Wait: time.Hour})
		o := hold(t, callee, script, func(s *server) {
			s.heard = func(n int) string { return []string{"Hello?", "Hm", "What do you want?"}[min(n, 2)] }
		})
		require.NoError(t, o.fault)
		kept := strings.Join(o.sittings[0].transcript(), "\n")
		require.NotContains(t, kept, "my answer number 1", "the early answer to a word of attention")
		require.Equal(t, "agent: This is my answer number 2.", o.transcript[len(o.transcript)-1], kept)
	})
}

func TestTheModelTellsWhoAnsweredWhenWordsDoNot(t *testing.T) {
	const away = "Hi, it's Sam, I'm out until Monday and I will be glad to hear from you then."
	for says, want := range map[string]string{"voicemail": "voicemail", "Human.": "human", "I would say that it is hard to tell": "human"} {
		o := hold(t, hums(away), juniper, func(s *server) {
			s.heard, s.writes = func(int) string { return away }, says
		})
		require.NoError(t, o.fault)
		require.Equal(t, want, o.AnsweredBy, "%s: %s", says, o.Verdict)
		require.Len(t, o.sittings, 1)
		require.Len(t, o.writing, 1, "asked on a connection of its own")
		require.Equal(t, []string{"user: " + away, "assistant: " + says}, o.writing[0].transcript())
	}
}

func TestNoiseIsForgotten(t *testing.T) {
	o := hold(t, hums("Hello?", "hum hum hum"), juniper, func(s *server) {
		s.heard = func(n int) string { return []string{"Hello?", ""}[min(n, 1)] }
	})
	require.NoError(t, o.fault)
	require.Equal(t, []string{"user: Hello?", "assistant: " + juniper.Greeting}, o.sittings[0].transcript())
	require.Equal(t, []string{"user: Hello?", "agent: " + juniper.Greeting}, o.transcript)
}

func TestASandboxLineIsReadToTheModel(t *testing.T) {
	o := hold(t, sandbox.Callee{Steps: []sandbox.Step{
		{Wait: 400 * time.Millisecond, Say: "Hello?"},
		{Hear: 800 * time.Millisecond, Say: "What do you want?"}, {Wait: time.Hour},
	}}, juniper, nil)
	require.NoError(t, o.fault)
	require.Equal(t, []string{"user: Hello?", "agent: " + juniper.Greeting, "user: What do you want?", "agent: This is my answer number 1."}, o.transcript)
	require.Equal(t, []string{"user: Hello?", "assistant: " + juniper.Greeting, "user: What do you want?", "assistant: This is my answer number 1."},
		o.sittings[0].transcript())
	require.NotContains(t, o.said, "input_audio_buffer.append")
}

func TestAGreetingOfTheModelsOwn(t *testing.T) {
	script := juniper
	script.Greeting = ""
	o := hold(t, sandbox.Callee{Steps: []sandbox.Step{{Wait: time.Hour}}}, script, nil)
	require.Equal(t, []string{"agent: This is my answer number 1."}, o.transcript)
	require.NoError(t, o.fault)
}
