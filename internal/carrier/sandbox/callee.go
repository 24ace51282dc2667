package sandbox

import (
	"context"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier"
)

// Callee is a scripted party.
type Callee struct {
	// Ring is how long it rings before the answer or the refusal. Longer than Request.RingTimeout: nobody answers.
	Ring time.Duration
	// Refuse ends the attempt instead of an answer.
	Refuse *carrier.Ended
	// Steps are done one after the other; after the last one the callee hangs up.
	Steps []Step
	// Speaker is the voice. Defaults to the one called "slt".
	Speaker voice.Speaker
}

// Step is one thing a callee does: it waits as told by Wait, Hear, Onset or Menu (one of them or none) and then makes a
// sound as told by Say or Tone (one of them or none).
type Step struct {
	// Wait is silence.
	Wait time.Duration
	// Hear waits until the agent has spoken since the callee's last sound and then been quiet for this long.
	Hear time.Duration
	// Onset waits until the agent has been speaking for this long, to talk into it.
	Onset time.Duration
	// Menu waits for a digit and goes on with its steps instead of these.
	Menu map[byte][]Step
	// Patience bounds Hear and Menu. After it, the sound of the step at Back steps before is made again, Repeat times;
	// then the callee hangs up. With Nudge that text is said instead.
	Patience     time.Duration
	Back, Repeat int
	Nudge        string
	// Say is spoken, with captions.
	Say string
	// Stop is the part of Say after which the callee stops, 0 to 1; 0 is all.
	Stop float64
	// Press sends digits to the agent.
	Press string
	// Tone is played, in samples.
	Tone []int16
}

// calling is a callee in a call. Its tick is called by the leg's reader alone.
type calling struct {
	callee Callee
	say    func(text string) []int16

	steps    []Step
	at       int // step
	waited   time.Duration
	repeats  int
	sounding bool

	sound    []int16 // left to play
	line     string  // being said
	length   int     // samples of the line
	played   int     // of them
	captions int     // words told so far

	vad       *audio.VAD
	speaking  time.Duration // of the agent without a pause
	quiet     time.Duration // since the agent's last voice
	addressed bool          // the agent spoke since the callee's last sound
}

// warm has the callee's lines made while it rings.
func (c Callee) warm(v *voice.Studio) {
	who := c.speaker()
	each(c.Steps, func(text string) { v.Warm(who, text) })
}

// each visits the texts of steps.
func each(steps []Step, visit func(text string)) {
	for _, s := range steps {
		for _, text := range []string{s.Say, s.Nudge} {
			if text != "" {
				visit(text)
			}
		}
		for _, branch := range s.Menu {
			each(branch, visit)
		}
	}
}

func (c Callee) speaker() voice.Speaker {
	if c.Speaker.Name == "" {
		c.Speaker.Name = "slt"
	}
	return c.Speaker
}

// voicesPatience bounds, by the wall clock, how much later a callee answers because its lines are still being made.
const voicesPatience = 400 * time.Millisecond

// begin puts the callee on the line. Its lines are taken now, so that no tick waits for a voice.
func (c Callee) begin(ctx context.Context, v *voice.Studio) *calling {
	ctx, cancel := context.WithTimeout(ctx, voicesPatience)
	defer cancel()
	lines := map[string][]int16{}
	each(c.Steps, func(text string) {
		if lines[text] == nil {
			lines[text] = v.Say(ctx, c.speaker(), text)
		}
	})
	return &calling{
		callee: c, say: func(text string) []int16 { return lines[text] },
		steps: c.Steps, vad: audio.NewVAD(audio.VADConfig{}),
	}
}

// tick makes the next 20 ms of the callee, who hears the agent's at the same time, and reports whether it hangs up.
func (c *calling) tick(out, agent *audio.Frame, digits string, emit func(carrier.Event)) (hangUp bool) {
	c.hear(agent)
	for !c.sounding {
		if c.at >= len(c.steps) {
			clear(out[:])
			return true
		}
		if !c.ready(digits) {
			clear(out[:])
			return c.at >= len(c.steps)
		}
		digits = ""
		c.perform(emit)
	}
	n := copy(out[:], c.sound)
	clear(out[n:])
	c.sound = c.sound[n:]
	c.played += n
	c.caption(emit)
	if len(c.sound) == 0 {
		c.sounding, c.addressed = false, false
		c.next()
	}
	return false
}

// hear follows the agent's voice.
func (c *calling) hear(agent *audio.Frame) {
	voiced, speaking := c.vad.Push(agent)
	if voiced {
		c.quiet = 0
	} else {
		c.quiet += audio.FrameTime
	}
	if !speaking {
		c.speaking = 0
		return
	}
	c.speaking += audio.FrameTime
	c.addressed = true
}

// ready waits as the step tells; true when its sound is due.
func (c *calling) ready(digits string) bool {
	s := &c.steps[c.at]
	c.waited += audio.FrameTime
	switch {
	case s.Wait > 0:
		return c.waited > s.Wait
	case s.Onset > 0:
		return c.speaking >= s.Onset
	case s.Menu != nil:
		for _, d := range []byte(digits) {
			if branch, ok := s.Menu[d]; ok {
				c.steps, c.at, c.waited, c.repeats = branch, -1, 0, 0
				c.next()
				return len(c.steps) > 0 && c.ready("")
			}
		}
		return c.impatient(s)
	case s.Hear > 0:
		if c.addressed && c.quiet >= s.Hear {
			c.repeats = 0
			return true
		}
		if c.speaking > 0 {
			c.waited = 0
		}
		return c.impatient(s)
	}
	return true
}

// impatient deals with an agent that is silent for too long; true when a sound is due.
func (c *calling) impatient(s *Step) bool {
	if s.Patience <= 0 || c.waited < s.Patience {
		return false
	}
	c.waited = 0
	if c.repeats++; c.repeats > s.Repeat {
		c.at = len(c.steps) // hangs up
		return false
	}
	if s.Nudge != "" {
		c.start(s.Nudge, c.say(s.Nudge))
		c.at-- // and waits again
		return false
	}
	c.at -= s.Back
	return true
}

// perform begins the step's sound, or goes on to the next step if it has none.
func (c *calling) perform(emit func(carrier.Event)) {
	s := &c.steps[c.at]
	if s.Press != "" {
		emit(carrier.Event{Kind: carrier.EventDigits, Digits: s.Press})
	}
	switch {
	case s.Say != "":
		c.start(s.Say, c.say(s.Say))
		if s.Stop > 0 {
			c.sound = c.sound[:int(float64(c.length)*s.Stop)]
		}
	case s.Tone != nil:
		c.start("", s.Tone)
	default:
		c.next()
	}
}

func (c *calling) start(line string, sound []int16) {
	c.line, c.sound, c.length, c.played, c.captions, c.sounding = line, sound, len(sound), 0, 0, true
}

func (c *calling) next() {
	c.at++
	c.waited = 0
}

// caption tells the words that have been begun, word by word, as a recogniser would.
func (c *calling) caption(emit func(carrier.Event)) {
	if c.line == "" {
		return
	}
	words, final := strings.Fields(c.line), len(c.sound) == 0
	said := min(len(words)*c.played/max(c.length, 1)+1, len(words))
	if said == c.captions && !final {
		return
	}
	c.captions = said
	emit(carrier.Event{Kind: carrier.EventCaption, Caption: carrier.Caption{Text: strings.Join(words[:said], " "), Final: final}})
}
