package hosted_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATalkOverServers(t *testing.T) {
	w := &world{t: t, stt: 100 * time.Millisecond, llm: 200 * time.Millisecond, tts: 100 * time.Millisecond}
	o := w.talk(juniper, false, person)
	require.NoError(t, o.fault)
	require.Equal(t, []string{
		"user: Hello?", "agent: " + juniper.Greeting, "user: Yes, of course, please go ahead.",
		"agent: We have moved, and so your cleaning on Thursday will be at another place. Please come to our new rooms.",
		"user: All right. Thank you very much for telling me about it, and goodbye.",
		"agent: Thank you. Goodbye.", `function_call: {"arguments":{},"name":"end_call"}`,
	}, o.transcript)
	require.Equal(t, "agent_hangup", o.Reason)
	require.Equal(t, "human", o.AnsweredBy)
	for i, turn := range o.Turns {
		t.Logf("%d %s %v", i, turn.Role, turn.Timing)
	}
	t.Logf("voice to voice %v, requests %v", o.Latency.Turns, w.requests)
	for _, d := range o.Latency.Turns[1:] {
		require.LessOrEqual(t, d, 650*time.Millisecond)
	}
}

// CONTRACT.md §2: no call ends without a spoken word or an honest reason.
func TestFaultsOfEveryServer(t *testing.T) {
	const apology = "agent: I am sorry, I am having technical difficulties. Please try again later. Goodbye."
	for _, part := range []string{"stt", "llm", "tts"} {
		for name, f := range faults {
			t.Run(part+" "+name, func(t *testing.T) {
				well := func(t *testing.T, o outcome) {
					t.Log(strings.Join(o.transcript, "\n"))
					require.Equal(t, "agent_hangup", o.Reason, o.fault)
					require.NotContains(t, o.transcript, apology)
					require.Contains(t, o.transcript, "user: All right. Thank you very much for telling me about it, and goodbye.")
					all := strings.Join(o.transcript, " ")
					require.Contains(t, all, "to our new rooms.")
					require.Equal(t, 1, strings.Count(all, "We have moved"))
				}
				t.Run("once is not noticed", func(t *testing.T) {
					w := &world{t: t, fault: func(p, _ string, n int) fault {
						if p == part && n == 1 {
							return f
						}
						return nil
					}}
					well(t, w.talk(juniper, false, person))
				})
				t.Run("in the middle of the call is not noticed", func(t *testing.T) {
					w := &world{t: t, fault: func(p, _ string, n int) fault {
						if p == part && n == map[string]int{"stt": 3, "llm": 1, "tts": 4}[part] {
							return f
						}
						return nil
					}}
					well(t, w.talk(juniper, false, person))
				})
				t.Run("for ever is not noticed when there is a fallback", func(t *testing.T) {
					w := &world{t: t, fault: func(p, server string, _ int) fault {
						if p == part && server == "first" {
							return f
						}
						return nil
					}}
					well(t, w.talk(juniper, true, person))
					require.NotZero(t, w.requests[part+" second"])
				})
				t.Run("for ever without a fallback is told", func(t *testing.T) {
					w := &world{t: t, fault: func(p, _ string, _ int) fault {
						if p == part {
							return f
						}
						return nil
					}}
					o := w.talk(juniper, false, person)
					t.Log(strings.Join(o.transcript, "\n"))
					require.Equal(t, "provider_error", o.Reason)
					require.Error(t, o.fault)
					require.Equal(t, apology, o.transcript[len(o.transcript)-1])
					require.False(t, o.Turns[len(o.Turns)-1].Interrupted)
					require.Less(t, o.Duration, 60*time.Second)
				})
			})
		}
	}
}
