package conversation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
)

func TestConsentToARecording(t *testing.T) {
	const (
		notice   = "agent: This call is recorded. If you do not agree, please hang up now."
		question = "agent: May this call be recorded? Please say yes or no."
	)
	greeting := "agent: " + juniper.Greeting
	hello := sandbox.Step{Wait: 400 * time.Millisecond, Say: "Hello?"}
	for name, c := range map[string]struct {
		kind   string
		steps  []sandbox.Step
		want   []string // the transcript's beginning
		given  string
		begins int // how often a recording begins
	}{
		"who stays on the line agrees": {conversation.ConsentStayOnLine, []sandbox.Step{hello},
			[]string{"user: Hello?", notice, greeting}, "given", 1},
		"who hangs up during the notice does not": {conversation.ConsentStayOnLine, []sandbox.Step{hello, {Onset: time.Second, Say: "No.", Stop: 1}, {}},
			[]string{"user: Hello?", "agent: This call"}, "refused", 0},
		"a yes": {conversation.ConsentVerbal, []sandbox.Step{hello, hears("Yes, that is fine.")},
			[]string{"user: Hello?", question, "user: Yes, that is fine.", greeting}, "given", 1},
		"a no": {conversation.ConsentVerbal, []sandbox.Step{hello, hears("No, I would rather not.")},
			[]string{"user: Hello?", question, "user: No, I would rather not.", greeting}, "refused", 0},
		"an answer into the question": {conversation.ConsentVerbal, []sandbox.Step{hello, {Onset: 1500 * time.Millisecond, Say: "Yes of course you may."}},
			[]string{"user: Hello?", question, "user: Yes of course you may.", greeting}, "given", 1},
		"an unclear answer is asked again": {conversation.ConsentVerbal, []sandbox.Step{hello, hears("Who is speaking please?"), hears("Okay.")},
			[]string{"user: Hello?", question, "user: Who is speaking please?", question, "user: Okay.", greeting}, "given", 1},
		"two unclear answers are a no": {conversation.ConsentVerbal, []sandbox.Step{hello, hears("Who is speaking please?"), hears("What do you want from me?")},
			[]string{"user: Hello?", question, "user: Who is speaking please?", question, "user: What do you want from me?", greeting}, "refused", 0},
		"silence is asked again and then a no": {conversation.ConsentVerbal, []sandbox.Step{hello},
			[]string{"user: Hello?", question, question, greeting}, "refused", 0},
		"nobody is asked without the setting": {"", []sandbox.Step{hello}, []string{"user: Hello?", greeting}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := juniper
			s.Consent = c.kind
			callee := says(c.steps...)
			if strings.Contains(name, "hangs up") {
				callee = &sandbox.Callee{Steps: c.steps[:2]}
			}
			begins := 0
			o := call{callee: callee, script: s, hooks: conversation.Hooks{Consented: func() { begins++ }}}.hold(t)
			o.wellFormed(t)
			require.GreaterOrEqual(t, len(o.transcript), len(c.want), o.transcript)
			for i, want := range c.want {
				require.True(t, strings.HasPrefix(o.transcript[i], want), o.transcript)
			}
			require.Equal(t, c.given, o.Consent)
			require.Equal(t, c.begins, begins)
		})
	}
	t.Run("a caller is asked before the greeting too", func(t *testing.T) {
		s := juniper
		s.Consent, s.ConsentPrompt = conversation.ConsentStayOnLine, "We record this."
		o := call{inbound: true, script: s}.hold(t)
		require.Equal(t, []string{"agent: We record this.", greeting}, o.transcript[:2])
		require.Equal(t, "given", o.Consent)
	})
	t.Run("a machine is not asked", func(t *testing.T) {
		s := juniper
		s.Consent, s.Voicemail = conversation.ConsentVerbal, conversation.VoicemailLeaveMessage
		o := call{to: "+15005550003", script: s}.hold(t)
		require.Equal(t, "voicemail", o.AnsweredBy)
		require.Empty(t, o.Consent)
		require.NotContains(t, strings.Join(o.transcript, "\n"), "recorded")
	})
}

func TestAnswersToTheQuestionOfConsent(t *testing.T) {
	for lang, answers := range map[string]map[string]string{
		"en":    {"Yes.": "given", "Yeah, sure": "given", "No problem at all.": "given", "I don't mind": "given", "No.": "refused", "Please don't": "refused", "Absolutely not!": "", "I suppose": "", "": "", "Yes. No, wait": ""},
		"de-AT": {"Ja, gerne": "given", "Kein Problem": "given", "Nein danke": "refused", "Ich weiß nicht": "refused", "Wie bitte?": ""},
		"es":    {"Sí, claro": "given", "No": "refused", "Mejor no": "refused"},
		"fr":    {"Oui": "given", "Aucun problème": "given", "Non merci": "refused", "Je ne veux pas": "refused"},
		"it":    {"Sì, va bene": "given", "Preferisco di no": "refused"},
		"pt-BR": {"Pode sim": "given", "Não": "refused"},
		"nl":    {"Ja hoor, geen probleem": "given", "Liever niet": "refused"},
		"ja":    {"yes": "given"}, // no lines of its own: English
	} {
		for text, want := range answers {
			require.Equal(t, want, conversation.ConsentIn(lang, text), "%s: %s", lang, text)
		}
	}
}

func TestEveryLanguageHasEveryLine(t *testing.T) {
	lines := conversation.Phrases()
	require.Len(t, lines, 7)
	for lang, of := range lines {
		for i, line := range of {
			require.NotEmpty(t, line, "%s %d", lang, i)
			if lang != "en" {
				require.NotEqual(t, lines["en"][i], line, lang)
			}
		}
	}
}
