package hosted

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/openai"
)

// When an utterance that goes on is transcribed.
const (
	// pauseBefore is the pause after which it may be at its end.
	pauseBefore = 120 * time.Millisecond
	// firstLook is the length at which it is for the first time transcribed without a pause, to see whether there are
	// words in it at all; then at each doubling.
	firstLook = 1500 * time.Millisecond
	// tail is the silence that is left behind the last voice: recognisers want a little.
	tail = 200 * time.Millisecond
	// longest is what an utterance may hold; of a longer one the beginning is lost.
	longest = 2 * time.Minute
	// sentRate is the rate that all recognisers take.
	sentRate = 16000
)

// Ears transcribe by requests, one for each pause of the other side.
type Ears struct {
	servers
	late time.Duration
}

// Listen is that of conversation.Ears.
func (e *Ears) Listen(ctx context.Context, s conversation.Script) (conversation.Listening, error) {
	l := &listening{ears: e, heard: make(chan conversation.Utterance, 32)}
	if t, err := language.Parse(s.Language); err == nil && len(s.Languages) == 0 {
		base, _ := t.Base()
		l.language = base.String()
	}
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return l, nil
}

// listening is the recognition of one call. Hear and Commit are called by one goroutine; texts come from the goroutines
// of requests.
type listening struct {
	ears     *Ears
	language string
	heard    chan conversation.Utterance
	ctx      context.Context
	cancel   context.CancelFunc
	requests sync.WaitGroup

	mu     sync.Mutex
	id     uint64
	pcm    []int16
	voiced int           // samples up to the end of the last voice
	quiet  time.Duration // since then
	look   time.Duration // length at which it is transcribed next without a pause
	newest *request
}

// request is a transcription of an utterance as far as it had come.
type request struct {
	id     uint64
	voiced int
	final  bool // the utterance was committed: its text is wanted
	done   bool
	text   string
	err    error
	cancel context.CancelFunc
}

// Hear is that of conversation.Listening.
func (l *listening) Hear(h conversation.Heard) {
	if h.Utterance == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Utterance != l.id {
		l.id, l.pcm, l.voiced, l.quiet, l.look, l.newest = h.Utterance, nil, 0, 0, firstLook, nil
		for i := range h.Preroll {
			l.pcm = append(l.pcm, h.Preroll[i][:]...)
		}
	}
	if h.Preroll == nil {
		l.pcm = append(l.pcm, h.Frame[:]...)
	}
	if limit := audio.Samples(longest); len(l.pcm) > limit {
		cut := limit / 4
		l.pcm, l.voiced = append([]int16(nil), l.pcm[cut:]...), max(l.voiced-cut, 0)
	}
	if l.quiet += audio.FrameTime; h.Voiced {
		l.voiced, l.quiet = len(l.pcm), 0
	}
	busy, known := l.newest != nil && !l.newest.done, l.newest != nil && l.newest.voiced == l.voiced
	switch length := audio.Duration(l.voiced); {
	case busy || known:
	case l.quiet >= pauseBefore:
		l.ask(false)
	case length >= l.look:
		l.ask(false)
	}
	for audio.Duration(l.voiced) >= l.look {
		l.look *= 2
	}
}

// Commit is that of conversation.Listening.
func (l *listening) Commit(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.newest
	switch {
	case id != l.id:
		l.tell(conversation.Utterance{ID: id, Final: true}) // it was so short that it is over already
	case r == nil || r.voiced != l.voiced || r.done && r.err != nil:
		if r != nil {
			r.cancel()
		}
		l.ask(true)
	case r.done:
		l.tell(conversation.Utterance{ID: id, Text: r.text, Final: true})
	default:
		r.final = true
	}
}

// ask sends what there is of the utterance. Called with mu held.
func (l *listening) ask(final bool) {
	ctx, cancel := context.WithCancel(l.ctx)
	r := &request{id: l.id, voiced: l.voiced, final: final, cancel: cancel}
	l.newest = r
	end := min(l.voiced+audio.Samples(tail), len(l.pcm))
	pcm := audio.NewResampler(audio.Rate, sentRate).Push(nil, l.pcm[:end])
	l.requests.Go(func() {
		defer cancel()
		text, err := l.ears.transcribe(ctx, openai.Sound{PCM: pcm, Rate: sentRate, Language: l.language}, func(text string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.partial(r, text, false)
		})
		l.mu.Lock()
		defer l.mu.Unlock()
		r.done, r.text, r.err = true, text, err
		if r.final {
			l.tell(conversation.Utterance{ID: r.id, Text: text, Final: true, Err: err})
		} else if err == nil {
			l.partial(r, text, true)
		}
	})
}

// partial tells a text that may still grow. Called with mu held.
func (l *listening) partial(r *request, text string, whole bool) {
	if r.id != l.id || r != l.newest || !whole && (r.final || text == "") {
		return
	}
	l.tell(conversation.Utterance{ID: r.id, Text: text, Stable: whole && text != "" && r.voiced == l.voiced})
}

// transcribe gives the text, "" for no words.
func (e *Ears) transcribe(ctx context.Context, s openai.Sound, partial func(string)) (text string, err error) {
	length := time.Duration(len(s.PCM)) * time.Second / sentRate
	err = e.relay(ctx, "transcription", e.late+length/5, false, func(ctx context.Context, t try, claim func() error) error {
		sofar := partial
		if t.fresh || t.client != e.first {
			sofar = nil // two servers would contradict each other
		}
		got, err := t.client.Transcribe(ctx, s, sofar)
		if err != nil {
			return err
		}
		if err := claim(); err != nil {
			return err
		}
		text = words(got)
		return nil
	})
	return text, err
}

// soundWords is what recognisers write for sound without words: [BLANK_AUDIO], (silence), *coughs*, ♪.
var soundWords = regexp.MustCompile(`\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|♪+`)

// words is a recogniser's text without descriptions of noises.
func words(text string) string {
	text = strings.TrimSpace(soundWords.ReplaceAllString(text, ""))
	if strings.Trim(text, ".…-–!? ") == "" {
		return ""
	}
	return strings.Join(strings.Fields(text), " ")
}

// tell never blocks: a partial text may be lost, and a full channel gives up its oldest entry for a final one.
func (l *listening) tell(u conversation.Utterance) {
	for l.ctx.Err() == nil {
		select {
		case l.heard <- u:
			return
		default:
		}
		if !u.Final {
			return
		}
		select {
		case <-l.heard:
		default:
		}
	}
}

func (l *listening) Heard() <-chan conversation.Utterance { return l.heard }

func (l *listening) Close() error {
	l.cancel()
	l.requests.Wait()
	return nil
}
