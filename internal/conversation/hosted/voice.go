package hosted

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/openai"
)

const (
	// lead is the silence that is left before the first sound of a sentence, and quietSample what counts as silence.
	lead        = 60 * time.Millisecond
	quietSample = 80
)

// Voice speaks by requests, a sentence each.
type Voice struct {
	servers
	late                 time.Duration
	voice, fallbackVoice string
	cache                *cache
	// unknown are voices of agents that the server does not have.
	unknown sync.Map
}

// Speak is that of conversation.Voice.
func (v *Voice) Speak(ctx context.Context, l conversation.Line, emit func([]int16) error) error {
	if pcm := v.cache.get(ctx, l, v.late); pcm != nil {
		return emit(pcm)
	}
	return v.speak(ctx, l, emit)
}

// Warm is that of conversation.Voice: the sound is kept for Speak.
func (v *Voice) Warm(ctx context.Context, l conversation.Line) {
	v.cache.fill(l, func() (pcm []int16, err error) {
		err = v.speak(ctx, l, func(piece []int16) error {
			pcm = append(pcm, piece...)
			return nil
		})
		return pcm, err
	})
}

// speak makes a line. One that breaks off is made again and goes on behind what was heard: voices keep their pace.
func (v *Voice) speak(ctx context.Context, l conversation.Line, emit func([]int16) error) error {
	sent := 0
	count := func(pcm []int16) error {
		sent += len(pcm)
		return emit(pcm)
	}
	err := v.round(ctx, l, false, 0, count)
	if err == nil || sent == 0 || ctx.Err() != nil {
		return err
	}
	return v.round(ctx, l, true, sent, count)
}

// round asks the servers for a line, of which the first samples are left out.
func (v *Voice) round(ctx context.Context, l conversation.Line, fresh bool, skip int, emit func([]int16) error) error {
	return v.relay(ctx, "speech", v.late, fresh, func(ctx context.Context, t try, claim func() error) error {
		s := openai.Speech{Text: l.Text, Voice: v.fallbackVoice, Speed: l.Rate}
		if t.client == v.first {
			s.Voice = v.speaker(l.VoiceID)
		}
		err := v.say(ctx, t.client, s, skip, claim, emit)
		if s.Voice != v.voice && t.client == v.first && refusedVoice(err) {
			v.log.WarnContext(ctx, "the voice of an agent is not there; taking the default", "voice", s.Voice)
			v.unknown.Store(s.Voice, true)
			s.Voice = v.voice
			err = v.say(ctx, t.client, s, skip, claim, emit)
		}
		return err
	})
}

// speaker is the voice of an agent in the server's terms.
func (v *Voice) speaker(id string) string {
	if _, unknown := v.unknown.Load(id); id == "" || unknown {
		return v.voice
	}
	return id
}

// refusedVoice reports a refusal that another voice may avoid.
func refusedVoice(err error) bool {
	var e *openai.Error
	return errors.As(err, &e) && (e.Status == 400 || e.Status == 404 || e.Status == 422)
}

// say asks one server and brings its sound to the house's rate.
func (v *Voice) say(ctx context.Context, c *openai.Client, s openai.Speech, skip int, claim func() error, emit func([]int16) error) error {
	var resampler *audio.Resampler
	trim := trimming{left: -1}
	give := func(pcm []int16) error {
		pcm = trim.push(pcm)
		left := min(skip, len(pcm))
		skip -= left
		if pcm = pcm[left:]; len(pcm) == 0 {
			return nil
		}
		if err := claim(); err != nil {
			return err
		}
		return emit(pcm)
	}
	err := c.Speak(ctx, s, func(pcm []int16, rate int) error {
		if resampler == nil {
			resampler = audio.NewResampler(rate, audio.Rate)
		}
		return give(resampler.Push(nil, pcm))
	})
	if err == nil {
		err = give(resampler.Push(nil, make([]int16, 128))) // what the filter still holds
	}
	return err
}

// trimming takes the silence off the beginning of a sentence but for lead: models think about it, and nobody wants to
// wait for it.
type trimming struct {
	held []int16
	left int // -1 until the first sound
}

func (t *trimming) push(pcm []int16) []int16 {
	if t.left >= 0 {
		return pcm
	}
	for i, s := range pcm {
		if s > quietSample || s < -quietSample {
			t.left = 0
			all := append(t.held, pcm...)
			return all[max(0, len(t.held)+i-audio.Samples(lead)):]
		}
	}
	// What is silent for a second is silence that is meant.
	if t.held = append(t.held, pcm...); len(t.held) > audio.Rate {
		t.left = 0
		return t.held
	}
	return nil
}
