package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
)

var errBroken = errors.New("the provider is broken")

// brain thinks with a function; fallen back to the built-in one where it returns errBuiltin.
type brain func(n int, t conversation.Thought, emit func(conversation.Part) error) error

var errBuiltin = errors.New("use the built-in brain")

type countingBrain struct {
	think brain
	n     *atomic.Int32
}

func (b countingBrain) Think(ctx context.Context, t conversation.Thought, emit func(conversation.Part) error) error {
	err := b.think(int(b.n.Add(1)), t, emit)
	if errors.Is(err, errBuiltin) {
		return scripted.Brain{}.Think(ctx, t, emit)
	}
	if err == nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// speechWith is the built-in speech with another brain.
func speechWith(think brain) conversation.Cascade {
	c := scripted.New(voice.New(voice.Config{Placeholder: true}))
	c.Brain = countingBrain{think, new(atomic.Int32)}
	return c
}

func say(text string) conversation.Part { return conversation.Part{Sentence: text} }

// voiceThat fails or hangs on some lines.
type voiceThat struct {
	conversation.Voice
	fails func(l conversation.Line) error
}

func (v voiceThat) Speak(ctx context.Context, l conversation.Line, emit func([]int16) error) error {
	if err := v.fails(l); err != nil {
		if errors.Is(err, errHang) {
			<-ctx.Done()
		}
		return err
	}
	return v.Voice.Speak(ctx, l, emit)
}

var errHang = errors.New("hangs")

type brokenOpening struct{ conversation.Speech }

func (brokenOpening) Open(context.Context, conversation.Script) (conversation.Dialogue, error) {
	return nil, errBroken
}

const apology = "agent: I am sorry, I am having technical difficulties. Please try again later. Goodbye."

func TestProviderFaults(t *testing.T) {
	builtin := scripted.New(voice.New(voice.Config{Placeholder: true}))
	withVoice := func(fails func(conversation.Line) error) conversation.Cascade {
		c := builtin
		c.Voice = voiceThat{c.Voice, fails}
		return c
	}
	recovers := func(think brain) func(*testing.T) {
		return func(t *testing.T) {
			o := call{to: "+15005550006", script: juniper, speech: speechWith(think)}.hold(t)
			o.wellFormed(t)
			require.Equal(t, "agent_hangup", o.Reason)
			require.Error(t, o.fault, "the fault is told for the log")
			require.NotContains(t, o.transcript, apology)
		}
	}
	once := func(err error) brain {
		return func(n int, th conversation.Thought, _ func(conversation.Part) error) error {
			if n == 1 {
				return err
			}
			if n == 2 && !th.Fresh {
				return errors.New("the retry was not fresh")
			}
			return errBuiltin
		}
	}
	t.Run("one error is retried on a fresh connection", recovers(once(errBroken)))
	t.Run("one empty reply is retried", recovers(once(nil)))
	t.Run("one reply that is late is retried", recovers(func(n int, _ conversation.Thought, _ func(conversation.Part) error) error {
		if n == 1 {
			time.Sleep(20 * time.Second) // virtual time
		}
		return errBuiltin
	}))

	for name, speech := range map[string]conversation.Speech{
		"a brain that is broken": speechWith(func(int, conversation.Thought, func(conversation.Part) error) error { return errBroken }),
		"a brain that is empty":  speechWith(func(int, conversation.Thought, func(conversation.Part) error) error { return nil }),
		"a brain that calls tools for ever": speechWith(func(_ int, _ conversation.Thought, emit func(conversation.Part) error) error {
			return emit(conversation.Part{Tool: &conversation.ToolCall{ID: "x", Name: "unknown", Arguments: json.RawMessage(`{}`)}})
		}),
		"a voice that is broken":        withVoice(func(conversation.Line) error { return errBroken }),
		"a voice that hangs":            withVoice(func(conversation.Line) error { return errHang }),
		"a provider that does not open": brokenOpening{builtin},
		"a voice that breaks in the middle": withVoice(func(l conversation.Line) error {
			if strings.HasPrefix(l.Text, "Is now") {
				return errBroken
			}
			return nil
		}),
	} {
		t.Run(name+" ends with an apology", func(t *testing.T) {
			o := call{to: "+15005550006", script: juniper, speech: speech}.hold(t)
			o.wellFormed(t)
			require.Equal(t, "provider_error", o.Reason)
			require.Equal(t, carrier.ClassUpstream, o.Class)
			require.Error(t, o.fault)
			require.Equal(t, apology, o.transcript[len(o.transcript)-1])
			last := o.Turns[len(o.Turns)-1]
			require.False(t, last.Interrupted)
			require.True(t, energy(o.agent[audio.Samples(last.Start):audio.Samples(last.End)]), "it was heard")
			require.Less(t, o.Duration, 60*time.Second)
		})
	}
}

func TestTools(t *testing.T) {
	// The callee tells which key it heard.
	callee := &sandbox.Callee{Steps: []sandbox.Step{
		{Wait: 400 * time.Millisecond, Say: "Hello?"},
		{Menu: map[byte][]sandbox.Step{'7': {{Say: "You pressed seven."}, {Wait: time.Hour}}}, Patience: time.Minute},
	}}
	tool := func(name, arguments string) brain {
		return func(n int, th conversation.Thought, emit func(conversation.Part) error) error {
			if last := th.History[len(th.History)-1]; last.Role == conversation.RoleFunctionResult {
				return emit(say("The result is " + strings.NewReplacer(`{"`, "", `"}`, "", `":`, " ").Replace(last.Text)))
			}
			if n > 1 {
				return emit(say("I see."))
			}
			if err := emit(say("One moment, please.")); err != nil {
				return err
			}
			return emit(conversation.Part{Tool: &conversation.ToolCall{ID: "t1", Name: name, Arguments: json.RawMessage(arguments)}})
		}
	}
	script := juniper
	script.Greeting = ""
	script.Transfers = map[string]string{"desk": "+15550001111"}
	t.Run("digits reach the other side, and the model goes on with the result", func(t *testing.T) {
		o := call{callee: callee, script: script, speech: speechWith(tool("press_digits", `{"digits":"7"}`))}.hold(t)
		o.wellFormed(t)
		all := strings.Join(o.transcript, "\n")
		require.Contains(t, all, `function_call: {"arguments":{"digits":"7"},"name":"press_digits"}`)
		require.Contains(t, all, `function_result: {"ok":true}`)
		require.Contains(t, all, "user: You pressed seven.")
	})
	t.Run("a transfer to a configured place ends our part", func(t *testing.T) {
		o := call{callee: callee, script: script, speech: speechWith(tool("transfer_call", `{"to":"desk"}`))}.hold(t)
		require.Equal(t, "transferred", o.Reason)
	})
	for name, c := range map[string][2]string{
		"a transfer to anywhere else is refused":  {"transfer_call", `{"to":"+19005551234"}`},
		"digits that are none are refused":        {"press_digits", `{"digits":"dial 911"}`},
		"an unknown tool is refused":              {"format_disk", `{}`},
		"arguments that are not JSON are refused": {"press_digits", `nonsense`},
	} {
		t.Run(name, func(t *testing.T) {
			o := call{callee: callee, script: script, speech: speechWith(tool(c[0], c[1]))}.hold(t)
			o.wellFormed(t)
			all := strings.Join(o.transcript, "\n")
			require.Contains(t, all, `function_result: {"error":`)
			require.Contains(t, all, "The result is error", "the model is told")
			require.Equal(t, "silence_timeout", o.Reason)
		})
	}
}

func TestKeysOfTheOtherSideAreAnswered(t *testing.T) {
	o := call{callee: says(hears("Let me press it."), sandbox.Step{Wait: 8 * time.Second, Press: "12"}), script: juniper}.hold(t)
	o.wellFormed(t)
	i := len(o.transcript) - 2
	require.Equal(t, "user: (pressed 12)", o.transcript[i])
	require.Equal(t, conversation.RoleAgent, o.Turns[i+1].Role)
}

func TestTheModelRemembersOnlyWhatWasHeard(t *testing.T) {
	var histories [][]conversation.Message
	speech := speechWith(func(_ int, th conversation.Thought, emit func(conversation.Part) error) error {
		histories = append(histories, th.History)
		return emit(say("I see."))
	})
	long := juniper
	long.Greeting = "Hi Maria, this is Juniper from Harbor Dental. I am calling to remind you of your cleaning on Thursday at two fifteen in the afternoon with Doctor Miller."
	o := call{callee: says(sandbox.Step{Onset: 3 * time.Second, Say: "Wait, who is this please?"}), script: long, speech: speech}.hold(t)
	require.Len(t, histories, 1)
	require.Equal(t, []conversation.Message{
		{Role: conversation.RoleAgent, Text: o.Turns[0].Content},
		{Role: conversation.RoleUser, Text: "Wait, who is this please?"},
	}, histories[0])
}

func TestALateBeepStartsTheMessageAgain(t *testing.T) {
	s := juniper
	s.Voicemail, s.VoicemailMessage = conversation.VoicemailLeaveMessage, "This is Juniper. Please call us back at your convenience."
	o := call{callee: says(
		sandbox.Step{Wait: 500 * time.Millisecond, Say: "You have reached the mailbox of Maria."},
		sandbox.Step{Wait: 4 * time.Second, Tone: audio.Beep()},
	), script: s}.hold(t)
	o.wellFormed(t)
	require.Equal(t, "voicemail", o.Reason)
	last := o.Turns[len(o.Turns)-1]
	require.Equal(t, s.VoicemailMessage, last.Content)
	require.False(t, last.Interrupted)
	require.True(t, o.Turns[1].Interrupted, "what was said before the beep was not recorded by the machine")
}

func TestSomebodyPicksUpDuringTheMessage(t *testing.T) {
	s := juniper
	s.Voicemail = conversation.VoicemailLeaveMessage
	s.VoicemailMessage = "This is Juniper from Harbor Dental. I am calling about your cleaning on Thursday. Please call us back at your convenience, we are open until six."
	o := call{callee: says(
		sandbox.Step{Wait: 500 * time.Millisecond, Say: "You have reached the mailbox of Maria. Leave a message after the beep."},
		sandbox.Step{Wait: 300 * time.Millisecond, Tone: audio.Beep()},
		sandbox.Step{Onset: 3 * time.Second, Say: "Hello, hello, I am here, I just came in."},
	), script: s}.hold(t)
	o.wellFormed(t)
	require.Equal(t, "human", o.AnsweredBy)
	require.Equal(t, "user: Hello, hello, I am here, I just came in.", o.transcript[2])
	require.Equal(t, "agent: "+juniper.Greeting, o.transcript[3])
}
