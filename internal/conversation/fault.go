package conversation

import (
	"context"
	"fmt"

	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
)

// turnFailed is the provider's fault in a turn: once it is asked again on a fresh connection if nothing was heard yet;
// then the agent apologises and hangs up.
func (t *talk) turnFailed(ctx context.Context, err error) {
	u := t.mouth.turn
	err = fmt.Errorf("make the agent's turn %d (%s): %w", u.id, u.purpose.name, err)
	if u.local {
		t.addFault(err)
		t.hangUp(ReasonProvider, providerMessage, carrier.ClassUpstream)
		return
	}
	t.mouth.faults++
	if t.mouth.faults > 1 || u.audible() || u.calls > 0 {
		t.fail(ctx, err)
		return
	}
	t.addFault(err)
	again := u.reply
	again.Fresh = true
	t.ask(ctx, again, u.purpose)
	t.mouth.turn.voice, t.mouth.turn.askedAt = u.voice, u.askedAt
}

const providerMessage = "The speech provider failed."

// fail is the end of trying: an apology, by the provider if it still can, else by the fallback, then provider_error.
func (t *talk) fail(ctx context.Context, err error) {
	t.addFault(err)
	if t.phase == phaseMessage || t.phase == phaseAnswer {
		t.phase = phaseTalk
	}
	end := func() { t.hangUp(ReasonProvider, providerMessage, carrier.ClassUpstream) }
	apology := purpose{name: "apology", fixed: true, then: end}
	if t.dialogue != nil && !t.mouth.sorry {
		t.mouth.sorry = true
		t.mouth.faults = 1 // the next fault is the last
		t.ask(ctx, Reply{Say: t.script.Apology}, apology)
		return
	}
	t.mouth.sorry = true
	t.cutTurn()
	t.mouth.number++
	u := &turn{id: t.mouth.number, purpose: apology, asked: t.now, local: true}
	u.items = []item{{id: "apology", text: t.script.Apology}}
	t.mouth.turn = u
	t.mouth.fallback.Go(func() {
		send := func(s Spoken) error {
			s.Turn = u.id
			select {
			case t.mouth.local <- s:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := t.hooks.Fallback.Speak(ctx, t.script.line(t.script.Apology), func(pcm []int16) error {
			return send(Spoken{PCM: pcm})
		})
		_ = send(Spoken{Err: err, Done: err == nil})
	})
}

// placeholder is the fallback that can not fail.
type placeholder struct{}

func (placeholder) Speak(ctx context.Context, l Line, emit func([]int16) error) error {
	studio := voice.New(voice.Config{Placeholder: true})
	return emit(studio.Say(ctx, voice.Speaker{Name: l.VoiceID, Language: l.Language, Rate: l.Rate}, l.Text))
}

func (placeholder) Warm(context.Context, Line) {}
