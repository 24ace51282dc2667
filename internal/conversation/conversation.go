// Package conversation holds one talk over a leg: greeting, turns, barge-in, silence, limits, who answered.
//
// It knows neither database, socket nor provider. It hears and speaks through [Speech], which is either a [Cascade]
// (ears, brain, voice) or one realtime model; both are one [Dialogue] to it. Package conversation/scripted has the
// built-in ears, brain and voice that need no account.
//
// # How it runs
//
// One goroutine, the loop in loop.go, owns all state and has one select. Next to it there is a goroutine that reads
// frames, one that calls the hooks, and what the Dialogue needs. Time is media time: the loop looks at its deadlines
// once per frame. An interruption bumps the turn number and clears the playout; nothing is ever rebuilt, and whatever
// still arrives for an older turn is dropped by its number.
//
// # Never silent
//
// A speech provider that fails or is late gets one retry on a fresh connection; then the agent apologises, by the
// built-in voice if it must, and the call ends with provider_error.
package conversation

import (
	"context"

	"github.com/callwright/callwright/internal/carrier"
)

// Run talks until the call is over and has hung up the leg when it returns. The Result is true in any case; the error
// is the provider's or line's fault behind it, for the log only. Cancel ctx to end the call early, with a *[Stop] as its
// cause.
func Run(ctx context.Context, leg carrier.Leg, s Script, speech Speech, h Hooks) (Result, error) {
	return newTalk(leg, s.withDefaults(), h).run(ctx, speech)
}
