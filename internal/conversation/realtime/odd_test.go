package realtime_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier/sandbox"
)

// A server that says anything that servers say, in any order and about anything: the call ends in time with an honest
// reason, nothing panics, nothing is left behind, and never more is waiting than the bound allows.
func TestServersThatTalkNonsense(t *testing.T) {
	types := []string{
		"session.updated", "input_audio_buffer.committed", "conversation.item.input_audio_transcription.delta",
		"conversation.item.input_audio_transcription.completed", "conversation.item.input_audio_transcription.failed", "response.created",
		"response.done", "response.output_item.added", "response.output_item.done", "response.output_audio.delta",
		"response.output_audio_transcript.delta", "response.function_call_arguments.done", "error", "response.audio.delta", "nonsense",
	}
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			script := juniper
			script.ReplyTimeout, script.Limit = 2*time.Second, 30*time.Second
			o := hold(t, hums("Hello?", "Yes, go ahead please.", "That sounds good to me."), script, func(s *server) {
				s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ws, err := websocket.Accept(w, r, nil)
					if err != nil {
						return
					}
					defer func() { _ = ws.CloseNow() }()
					random := rand.New(rand.NewPCG(seed, 7))
					reading := make(chan struct{})
					go func() {
						defer close(reading)
						for {
							if _, _, err := ws.Read(r.Context()); err != nil {
								return
							}
						}
					}()
					sit := &sitting{s: s, ws: ws, ctx: r.Context()}
					for range 400 {
						id := func(of string) string { return fmt.Sprint(of, random.IntN(3)) }
						status := []string{"completed", "failed", "cancelled", "incomplete", ""}[random.IntN(5)]
						call := object{"type": "function_call", "id": id("i"), "call_id": id("c"), "name": []string{"press_digits", "wibble", ""}[random.IntN(3)], "arguments": []string{"{}", "x", ""}[random.IntN(3)]}
						e := object{
							"type": types[random.IntN(len(types))], "item_id": id("i"), "response_id": id("r"), "call_id": id("c"), "transcript": "Words.",
							"response": object{"id": id("r"), "status": status, "output": []object{call}},
							"item":     call, "name": call["name"], "arguments": call["arguments"],
							"error": object{"code": []string{"conversation_already_has_active_response", "response_cancel_not_active", "input_audio_buffer_commit_empty", "x"}[random.IntN(4)]},
						}
						if random.IntN(2) == 0 {
							e["delta"] = "AAAAAAAAAAAAAAAA"
						}
						sit.send(e)
						select {
						case <-time.After(time.Duration(random.IntN(200)) * time.Millisecond):
						case <-reading:
							return
						}
					}
					<-reading
				})
			})
			require.NotEmpty(t, o.Reason)
			require.LessOrEqual(t, o.Duration, 45*time.Second)
		})
	}
}

// A model that talks for twenty minutes without a breath is interrupted like any other.
func TestAFloodOfSoundIsHeldBack(t *testing.T) {
	callee := hums("Hello?", "Tell me everything.")
	callee.Steps = append(callee.Steps[:2], sandbox.Step{Wait: 45 * time.Second, Tone: hum("kal", "Wait a moment please.")}, sandbox.Step{Wait: time.Hour})
	o := hold(t, callee, juniper, func(s *server) {
		s.think = func(n int, _ *sitting) answer {
			if n == 0 {
				text := ""
				for i := range 1500 {
					text += fmt.Sprintf("word%d ", i)
				}
				return answer{text: text}
			}
			return answer{text: "Yes?"}
		}
	})
	require.NoError(t, o.fault)
	require.True(t, o.Turns[3].Interrupted)
	require.Less(t, o.Turns[3].End-o.Turns[3].Start, 45*time.Second)
	var made int
	for _, it := range o.sittings[0].items {
		made = max(made, it.sent)
	}
	t.Logf("%v of sound were sent, %v played", time.Duration(made)*time.Millisecond, o.Turns[3].End-o.Turns[3].Start)
	require.Less(t, made, int((4 * time.Minute).Milliseconds()), "the server could not send all it had")
}
