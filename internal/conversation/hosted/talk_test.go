package hosted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/hosted"
)

func ptr[T any](v T) *T { return &v }

func TestSettingsReachTheServers(t *testing.T) {
	s := juniper
	s.Creativity, s.ReasoningEffort, s.SpeakingRate, s.VoiceID, s.Language = ptr(0.0), "low", 1.25, "kal", "en-GB"
	s.Transfers = map[string]string{"front desk": "+15550001111"}
	w := &world{t: t}
	o := w.talk(s, false, person)
	require.NoError(t, o.fault)
	c := w.chats[0]
	require.Equal(t, "m-first", c.Model)
	require.InDelta(t, 0, *c.Temperature, 0.01)
	require.Contains(t, c.Messages[0].Content, "You are Juniper.")
	require.Contains(t, c.Messages[0].Content, "telephone")
	tools := ""
	for _, tool := range c.Tools {
		tools += tool.Function.Name + " "
	}
	require.Equal(t, "end_call press_digits transfer_call ", tools)
	require.Equal(t, "en", w.forms[0]["language"])
	for _, line := range w.spoken {
		require.True(t, strings.HasPrefix(line, "kal: "), line)
	}
	t.Run("no language is told to the recogniser where there may be several", func(t *testing.T) {
		s := juniper
		s.Languages = []string{"es"}
		w := &world{t: t}
		w.talk(s, false, person)
		require.NotContains(t, w.forms[0], "language")
	})
}

func TestAVoiceOrModelThatTheServerDoesNotHaveIsReplaced(t *testing.T) {
	s := juniper
	s.VoiceID, s.Model = "unknown", "gone"
	w := &world{t: t, fault: func(part, _ string, n int) fault {
		if part == "llm" && n == 1 {
			return status(404)
		}
		return nil
	}}
	o := w.talk(s, false, person)
	require.Equal(t, "agent_hangup", o.Reason, o.fault)
	require.True(t, strings.HasPrefix(w.spoken[0], "rms: "), w.spoken)
	require.Equal(t, "m-first", w.chats[len(w.chats)-1].Model)
}

func TestTheModelGetsTheTalkAsServersWantIt(t *testing.T) {
	w := &world{t: t, think: func(c chat) []string {
		switch last := c.Messages[len(c.Messages)-1]; {
		case last.Role == "tool":
			return []string{"The key is pressed."}
		case strings.Contains(last.Content, "go ahead"):
			return []string{"One moment, please.", `CALL press_digits {"digits":"1"}`, `CALL press_digits {"digits":"oops"}`}
		}
		return reply(c)
	}}
	o := w.talk(juniper, false, person)
	require.Equal(t, "agent_hangup", o.Reason, o.fault)
	last := w.chats[len(w.chats)-1]
	roles := ""
	open := map[string]bool{}
	for _, m := range last.Messages {
		roles += m.Role + " "
		for _, call := range m.ToolCalls {
			open[call.ID] = true
			require.True(t, json.Valid([]byte(call.Function.Arguments)))
		}
		if m.Role == "tool" {
			require.True(t, open[m.ToolCallID], "a result of a call that was made before")
		}
	}
	require.Equal(t, "system user assistant user assistant tool tool assistant user ", roles)
}

func TestTheModelThinksAhead(t *testing.T) {
	w := &world{t: t, stt: 50 * time.Millisecond, llm: 200 * time.Millisecond,
		lines: []string{"Yes, of course, please go ahead|and tell me everything about it."}}
	o := w.talk(juniper, false, []sandbox.Step{
		{Wait: 400 * time.Millisecond, Say: "Hello?"},
		hears("Yes, of course, please go ahead"), {Wait: 500 * time.Millisecond, Say: "and tell me everything about it."},
		hears("All right. Thank you very much for telling me about it, and goodbye."),
	})
	require.NotEmpty(t, o.transcript)
	t.Log(strings.Join(o.transcript, "\n"))
	for _, d := range o.Latency.Turns[1:] {
		require.LessOrEqual(t, d, 900*time.Millisecond)
	}
	for i, c := range w.chats {
		t.Logf("%d %s", i, c.last())
	}
	require.Greater(t, len(w.chats), len(o.Latency.Turns)-1, "what was thought of a text that went on is thrown away")
	spoken := strings.Join(w.spoken, "\n")
	require.Equal(t, 1, strings.Count(spoken, "We have moved"), "and is not spoken: %s", spoken)
}

// long is a greeting to talk into.
var long = func() conversation.Script {
	s := juniper
	s.Greeting = "Hi Maria, this is Juniper from Harbor Dental. I am calling to remind you of your cleaning on Thursday at two fifteen in the afternoon with Doctor Miller."
	return s
}()

func TestTalkingIntoTheAgent(t *testing.T) {
	t.Run("words stop it", func(t *testing.T) {
		w := &world{t: t, stt: 100 * time.Millisecond}
		o := w.talk(long, false, []sandbox.Step{{Onset: 3 * time.Second, Say: "Wait a moment, who is this please?"}})
		require.True(t, o.Turns[0].Interrupted)
		require.Equal(t, "user: Wait a moment, who is this please?", o.transcript[1])
		require.Equal(t, "agent: I see. Is there anything else?", o.transcript[2])
		require.LessOrEqual(t, o.Turns[0].End-o.Turns[1].Start, 300*time.Millisecond)
	})
	t.Run("a word of attention lets it go on", func(t *testing.T) {
		w := &world{t: t, stt: 100 * time.Millisecond}
		o := w.talk(long, false, []sandbox.Step{{Onset: 3 * time.Second, Say: "Mhm."}})
		require.Equal(t, "user: Mhm.", o.transcript[1], o.transcript)
		require.Equal(t, long.Greeting, o.Turns[0].Content+" "+o.Turns[2].Content)
	})
	t.Run("a noise lets it go on", func(t *testing.T) {
		w := &world{t: t, stt: 100 * time.Millisecond}
		o := w.talk(long, false, []sandbox.Step{{Onset: 3 * time.Second, Tone: audio.Tone(300, 0.2, 400*time.Millisecond)}})
		require.Equal(t, long.Greeting, strings.ReplaceAll(" "+strings.Join(o.transcript, " "), " agent: ", " ")[1:], "or it was not even stopped")
	})
	t.Run("a recogniser that takes long lets it go on after two seconds", func(t *testing.T) {
		w := &world{t: t, fault: func(part, _ string, _ int) fault {
			if part == "stt" {
				return func(rw httpWriter, r *httpRequest, work httpHandler) {
					pause(r, 3500*time.Millisecond)
					work(rw, r)
				}
			}
			return nil
		}}
		o := w.talk(long, false, []sandbox.Step{{Onset: 3 * time.Second, Say: "Wait a moment, who is this please?"}})
		t.Log(strings.Join(o.transcript, "\n"))
		require.True(t, o.Turns[0].Interrupted)
		require.Contains(t, o.transcript, "user: Wait a moment, who is this please?")
		require.Contains(t, o.transcript, "agent: I see. Is there anything else?")
	})
}

func TestAServerThatIsOnlySlowIsNotTroubledForNothing(t *testing.T) {
	w := &world{t: t, llm: 4 * time.Second}
	o := w.talk(juniper, false, person)
	require.Equal(t, "agent_hangup", o.Reason, o.fault)
	require.NoError(t, o.fault)
	require.Contains(t, strings.Join(o.transcript, " "), "to our new rooms.")
	quick := &world{t: t}
	quick.talk(juniper, false, person)
	require.LessOrEqual(t, w.requests["llm first"], quick.requests["llm first"], "it is not asked twice")
	t.Run("with a fallback that one answers meanwhile", func(t *testing.T) {
		w := &world{t: t, llm: 7 * time.Second, fault: func(part, server string, _ int) fault {
			if part == "llm" && server == "second" {
				return func(rw httpWriter, r *httpRequest, _ httpHandler) {
					rw.Header().Set("Content-Type", "text/event-stream")
					event(rw, map[string]string{"content": "I am the other one."})
					io.WriteString(rw, "data: [DONE]\n\n")
				}
			}
			return nil
		}}
		o := w.talk(juniper, true, person[:2])
		require.Contains(t, o.transcript, "agent: I am the other one.")
	})
}

func TestLinesKnownBeforeAreMadeBefore(t *testing.T) {
	w := &world{t: t, requests: map[string]int{}, studio: voice.New(voice.Config{Placeholder: true}), tts: 300 * time.Millisecond}
	synctest.Test(t, func(t *testing.T) {
		speech, err := hosted.New(w.config(false))
		require.NoError(t, err)
		defer speech.Close()
		s := juniper
		s.IdleReminder, s.IdleAfter = "Are you still there?", time.Minute
		speech.Warm(t.Context(), s)
		require.Len(t, w.spoken, 3)
		line := conversation.Line{Text: "Is now a good time?", Language: "en", Rate: 1}
		began, n := time.Now(), 0
		var together sync.WaitGroup
		for range 3 {
			together.Go(func() {
				require.NoError(t, speech.Voice.Speak(t.Context(), line, func(pcm []int16) error {
					n += len(pcm)
					return nil
				}))
			})
			together.Wait()
		}
		require.Zero(t, time.Since(began))
		require.Greater(t, audio.Duration(n), time.Second)
		require.Len(t, w.spoken, 3)
		line.Rate = 1.5
		require.NoError(t, speech.Voice.Speak(t.Context(), line, func([]int16) error { return nil }))
		require.Len(t, w.spoken, 4, "another rate is another sound")
	})
}

func TestTheModelTellsWhoAnswered(t *testing.T) {
	w := &world{t: t, requests: map[string]int{}, think: func(c chat) []string {
		require.Contains(t, c.last(), "Our office is closed")
		return []string{`{"who":"voicemail"}`}
	}}
	synctest.Test(t, func(t *testing.T) {
		speech, err := hosted.New(w.config(false))
		require.NoError(t, err)
		defer speech.Close()
		who, err := speech.Classify(t.Context(), juniper, "Our office is closed")
		require.NoError(t, err)
		require.Equal(t, "voicemail", who)
	})
}

func TestACacheKeepsToItsBound(t *testing.T) {
	w := &world{t: t, requests: map[string]int{}, studio: voice.New(voice.Config{Placeholder: true})}
	synctest.Test(t, func(t *testing.T) {
		c := w.config(false)
		c.CacheBytes = 40_000 // two and a half seconds
		speech, err := hosted.New(c)
		require.NoError(t, err)
		defer speech.Close()
		line := func(text string) conversation.Line { return conversation.Line{Text: text, Rate: 1} }
		warm := func(text string) int {
			before := len(w.spoken)
			speech.Voice.Warm(context.Background(), line(text))
			return len(w.spoken) - before
		}
		require.Equal(t, 1, warm("The first of them."))
		require.Equal(t, 0, warm("The first of them."))
		require.Equal(t, 1, warm("Another one is this."))
		require.Equal(t, 1, warm("And one more of them."))
		require.Equal(t, 1, warm("The first of them."), "it had to go")
	})
}

func TestAModelThatTakesNoToolsTalksWithout(t *testing.T) {
	refused := 0
	w := &world{t: t}
	w.fault = func(part, _ string, _ int) fault {
		if part != "llm" {
			return nil
		}
		return func(rw httpWriter, r *httpRequest, work httpHandler) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte(`"tools"`)) {
				refused++
				rw.WriteHeader(400)
				io.WriteString(rw, `{"error":{"message":"this model does not support tools"}}`)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			work(rw, r)
		}
	}
	o := w.talk(juniper, false, person)
	require.NoError(t, o.fault)
	require.Contains(t, strings.Join(o.transcript, " "), "to our new rooms.")
	require.Equal(t, 1, refused, "it is asked once")
}
