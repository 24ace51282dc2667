package conversation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
)

func TestWhoAnswered(t *testing.T) {
	for said, want := range map[string]string{
		"Hello?": "human",
		"Yes?":   "human",
		"Harbor Clinic, this is Paula Gonzalez speaking, how can I help you today?": "human",
		"Who is this?": "human",
		"Hi, this is Tom. Leave me a message and I will call you back.":                         "voicemail",
		"You have reached the mailbox of five five five, one two three.":                        "voicemail",
		"The person you called is not available. At the tone, please record your message.":      "voicemail",
		"Bitte sprechen Sie nach dem Signalton.":                                                "voicemail",
		"Deje su mensaje después de la señal.":                                                  "voicemail",
		"Laissez un message après le bip.":                                                      "voicemail",
		"For sales, press one. For support, press two.":                                         "ivr",
		"To leave a message, press 1. To be called back, press 2.":                              "ivr",
		"Willkommen. Für den Verkauf drücken Sie die eins.":                                     "ivr",
		"Hi, if you record your name and reason for calling, I will see if they are available.": "ivr",
		"Please state your name after the beep, and we will try to connect you.":                "ivr",
	} {
		t.Run(said, func(t *testing.T) {
			o := call{callee: says(sandbox.Step{Wait: 500 * time.Millisecond, Say: said}), script: juniper}.hold(t)
			o.wellFormed(t)
			require.Equal(t, want, o.AnsweredBy, o.Verdict)
			require.NotEmpty(t, o.Verdict)
		})
	}
	t.Run("a beep alone is a machine", func(t *testing.T) {
		o := call{callee: says(sandbox.Step{Wait: 500 * time.Millisecond, Tone: audio.Beep()}), script: juniper}.hold(t)
		require.Equal(t, "voicemail", o.AnsweredBy)
		require.Equal(t, "voicemail", o.Reason)
	})
	t.Run("a second sentence may still show a machine, and the greeting stops", func(t *testing.T) {
		o := call{callee: says(
			sandbox.Step{Wait: 500 * time.Millisecond, Say: "Hi, this is Maria."},
			sandbox.Step{Wait: 1200 * time.Millisecond, Say: "Please leave a message after the tone."},
		), script: juniper}.hold(t)
		o.wellFormed(t)
		require.Equal(t, "voicemail", o.AnsweredBy)
		require.Equal(t, "voicemail", o.Reason)
		require.True(t, o.Turns[1].Interrupted)
	})
	t.Run("a person who talks about messages later stays a person", func(t *testing.T) {
		o := call{callee: says(
			sandbox.Step{Wait: 500 * time.Millisecond, Say: "Hello?"}, hears("Yes, go ahead."), hears("You can leave a message at the mailbox of my office."),
		), script: juniper}.hold(t)
		require.Equal(t, "human", o.AnsweredBy)
	})
}

// spokenLines has the greeting spoken and returns the pieces that the voice got.
func spokenLines(t *testing.T, greeting string) (lines []string) {
	speech := scripted.New(voice.New(voice.Config{Placeholder: true}))
	speech.Voice = voiceThat{speech.Voice, func(l conversation.Line) error {
		lines = append(lines, l.Text)
		return nil
	}}
	s := juniper
	s.Greeting = greeting
	call{callee: says(), script: s, speech: speech}.hold(t)
	return lines
}

func TestLinesAreSpokenSentenceBySentence(t *testing.T) {
	long := "This sentence is as long as a page and has no mark at all so that it must be cut somewhere between two of its many words since nobody wants to wait for the sound of so much text before the first word of it is heard on the line which would be much too late for a talk on the telephone where silence is taken for absence"
	for text, want := range map[string][]string{
		"Good morning, this is Juniper. How are you?":   {"Good morning, this is Juniper.", "How are you?"},
		"Hi. I am Juniper.":                             {"Hi. I am Juniper."},
		"It costs 3.50 at example.com today, not more.": {"It costs 3.50 at example.com today, not more."},
		"  many\n\n spaces  ":                           {"many spaces"},
		"你好。我是朱妮珀。":                                     {"你好。", "我是朱妮珀。"},
	} {
		require.Equal(t, want, spokenLines(t, text))
	}
	pieces := spokenLines(t, long)
	require.Len(t, pieces, 2)
	require.Equal(t, long, pieces[0]+" "+pieces[1])
}

func TestWarmMakesTheGreetingBeforeTheAnswer(t *testing.T) {
	var warmed []string
	speech := scripted.New(voice.New(voice.Config{Placeholder: true}))
	speech.Voice = warmVoice{speech.Voice, &warmed}
	s := juniper
	s.IdleReminder, s.IdleAfter = "Are you still there?", time.Minute
	speech.Warm(t.Context(), s)
	require.Equal(t, []string{"Hi Maria, this is Juniper from Harbor Dental.", "Is now a good time?", "Are you still there?"}, warmed)
}

type warmVoice struct {
	conversation.Voice
	lines *[]string
}

func (w warmVoice) Warm(_ context.Context, l conversation.Line) { *w.lines = append(*w.lines, l.Text) }
