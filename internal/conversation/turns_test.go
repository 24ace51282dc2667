package conversation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
)

func TestHowLongAPauseMayBeDependsOnTheTextAndThePatience(t *testing.T) {
	endpoint := func(patience, text string) time.Duration {
		s := juniper
		s.Patience = patience
		o := call{callee: says(sandbox.Step{Wait: 400 * time.Millisecond, Say: "Hello?"}, hears(text)), script: s}.hold(t)
		for i, turn := range o.Turns {
			if turn.Role == conversation.RoleUser && turn.Content == text {
				return o.Turns[i+1].Timing.Endpoint
			}
		}
		t.Fatalf("%v", o.transcript)
		return 0
	}
	const whole, open = "That sounds quite good.", "That sounds quite good and"
	for _, c := range []struct {
		patience, text string
		want           time.Duration
	}{
		{"low", whole, 300 * time.Millisecond}, {"medium", whole, 400 * time.Millisecond}, {"high", whole, 640 * time.Millisecond},
		{"low", open, 525 * time.Millisecond}, {"", open, 700 * time.Millisecond}, {"high", open, 1120 * time.Millisecond},
	} {
		require.InDelta(t, c.want.Seconds(), endpoint(c.patience, c.text).Seconds(), 0.045, "%s: %s", c.patience, c.text)
	}
}

func TestEachTurnOfTheAgentIsTimed(t *testing.T) {
	o := call{to: "+15005550006", script: juniper}.hold(t)
	answers := 0
	for i, turn := range o.Turns {
		if turn.Role != conversation.RoleAgent {
			require.Nil(t, turn.Timing)
			continue
		}
		d := turn.Timing
		require.NotNil(t, d)
		require.Equal(t, o.Latency.Turns[answers], d.VoiceToVoice)
		require.Equal(t, turn.Start-o.Turns[i-1].End, d.VoiceToVoice)
		sum := d.Endpoint + d.Transcription + d.FirstToken + d.FirstSentence + d.FirstSound + d.Playout
		require.InDelta(t, d.VoiceToVoice.Seconds(), sum.Seconds(), 0.05, "the parts are the whole: %+v", d)
		answers++
	}
	require.Equal(t, 4, answers)
}

func TestAWordOfAttentionLateInAQuestionIsItsAnswer(t *testing.T) {
	s := juniper
	s.Greeting = "Hi Maria, this is Juniper from Harbor Dental, and I am calling about your cleaning. Is now a good time?"
	length := time.Duration(0)
	{
		o := call{callee: says(), script: s}.hold(t)
		length = o.Turns[0].End - o.Turns[0].Start
	}
	o := call{callee: says(sandbox.Step{Onset: length - 600*time.Millisecond, Say: "Yes."}), script: s}.hold(t)
	require.Equal(t, []string{"agent: " + s.Greeting, "user: Yes."}, o.transcript[:2])
	require.Equal(t, conversation.RoleAgent, o.Turns[2].Role, "it is answered: %v", o.transcript)
}

func TestGuardsOfTheTools(t *testing.T) {
	person := says(sandbox.Step{Wait: 400 * time.Millisecond, Say: "Hello?"}, hears("Go on please."))
	calls := func(n int, name, arguments string) brain {
		return func(turn int, th conversation.Thought, emit func(conversation.Part) error) error {
			for range n {
				if err := emit(conversation.Part{Tool: &conversation.ToolCall{ID: "t", Name: name, Arguments: json.RawMessage(arguments)}}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	script := juniper
	script.Transfers = map[string]string{"desk": "+15550001111"}
	t.Run("a call does not end without a word", func(t *testing.T) {
		silent := script
		silent.Greeting = ""
		o := call{callee: person, script: silent, speech: speechWith(calls(1, "end_call", `{}`))}.hold(t)
		require.Equal(t, "agent_hangup", o.Reason)
		require.Equal(t, "agent: Goodbye.", o.transcript[len(o.transcript)-1])
	})
	t.Run("keys are for calls that we made", func(t *testing.T) {
		once := func(turn int, th conversation.Thought, emit func(conversation.Part) error) error {
			if turn > 1 {
				return emit(say("I see."))
			}
			return calls(1, "press_digits", `{"digits":"1"}`)(turn, th, emit)
		}
		o := call{inbound: true, script: script, speech: speechWith(once)}.hold(t)
		require.Contains(t, strings.Join(o.transcript, "\n"), `function_result: {"error":"keys are pressed in calls that we made only"}`)
	})
	t.Run("there is an end to them", func(t *testing.T) {
		o := call{callee: person, script: script, speech: speechWith(calls(8, "press_digits", `{"digits":"1"}`))}.hold(t)
		done := strings.Count(strings.Join(o.transcript, "\n"), `function_result: {"ok":true}`)
		require.LessOrEqual(t, done, 30)
		require.Equal(t, "provider_error", o.Reason)
	})
}

func TestABackgroundIsUnderTheWholeCall(t *testing.T) {
	s := juniper
	s.Background = audio.Noise("office", 0.5)
	o := call{to: "+15005550006", script: s}.hold(t)
	o.wellFormed(t)
	require.Equal(t, "agent_hangup", o.Reason, "nobody takes it for the agent")
	for at := 0; at+audio.Rate < len(o.agent); at += audio.Rate {
		require.Greater(t, audio.Power(o.agent[at:at+audio.Rate]), 10_000.0, "second %d", at/audio.Rate)
	}
	plain := call{to: "+15005550006", script: juniper}.hold(t)
	require.Equal(t, plain.transcript, o.transcript)
	require.Zero(t, audio.Power(plain.agent[:audio.Rate/2]))
}

func TestTextThatIsBeingWrittenIsCutForTheVoice(t *testing.T) {
	for _, c := range []struct{ pieces, want []string }{
		{[]string{"Good mor", "ning, this", " is Juniper from Harbor", " Dental, and I am ", "calling about Thursday. How are", " you?"},
			[]string{"Good morning, this is Juniper from Harbor Dental,", "and I am calling about Thursday.", "How are you?"}},
		{[]string{"Sure. ", "It costs 3.50 at example.com", " today, not more. ", "Yes"}, []string{"Sure.", "It costs 3.50 at example.com today, not more.", "Yes"}},
		{[]string{"你好。我是", "朱妮珀。"}, []string{"你好。", "我是朱妮珀。"}},
		{[]string{"## Hours\n- **Monday** to `Friday`\n"}, []string{"Hours", "Monday to Friday"}},
		{[]string{"", " ", "\n"}, nil},
		{[]string{"No mark at all"}, []string{"No mark at all"}},
	} {
		require.Equal(t, c.want, conversation.CutAll(c.pieces...))
	}
	long := strings.Repeat("word ", 200)
	for _, piece := range conversation.CutAll(long) {
		require.LessOrEqual(t, len(piece), 300)
	}
}

// losing is a line whose frames from 1 s to 1.3 s were dropped since nobody took them.
type losing struct{ carrier.Leg }

func (l losing) Media() carrier.Media { return losingMedia{l.Leg.Media()} }

type losingMedia struct{ carrier.Media }

func (l losingMedia) ReadFrame(f *carrier.Frame) error {
	err := l.Media.ReadFrame(f)
	for err == nil && f.At > time.Second && f.At <= 1300*time.Millisecond {
		err = l.Media.ReadFrame(f)
	}
	return err
}

func TestSoundThatNobodyTookInTimeIsCounted(t *testing.T) {
	o := call{to: "+15005550006", script: juniper}.hold(t)
	require.Zero(t, o.Missed)
	o = call{to: "+15005550006", script: juniper, line: func(l carrier.Leg) carrier.Leg { return losing{l} }}.hold(t)
	require.Equal(t, 300*time.Millisecond, o.Missed)
}

func TestHowATextComesDoesNotMatter(t *testing.T) {
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \n*#`_-", r) {
				return -1
			}
			return r
		}, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "word", " ", ". ", ", ", "3.5", "? ", "。", "\n", "**", "- ", "é", "Hello there, ", "…"}), 0, 80).Draw(t, "text"), "")
		var pieces []string
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		cut := conversation.CutAll(pieces...)
		require.Equal(t, conversation.CutAll(whole), cut)
		require.Equal(t, letters(whole), letters(strings.Join(cut, "")), "nothing is lost")
		for _, piece := range cut {
			require.NotEmpty(t, strings.TrimSpace(piece))
		}
	})
}
