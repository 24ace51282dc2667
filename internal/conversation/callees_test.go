package conversation_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/carrier/sandbox"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
)

// The six kinds of callees of TestSixKindsOfCallees, in twenty variations each: texts, voices, levels, noises, pauses and
// tones differ. A text is cut into phrases by "|", which is a pause; "*" is a beep.
var kinds = map[string]struct {
	answeredBy, reason, verdict string // verdict is a part of it
	texts, others, unseen       []string
}{
	"human": {"human", "", "", []string{
		"Hello?", "Hi, this is Maria.", "Yes?", "Lopez speaking.", "Hello? | Hello, who is there?", "Good morning, Harbor Clinic.",
		"Harbor Clinic, this is Paula speaking, how can I help you?", "Hi, sorry, I was in the garden. | Who is this?",
		"Maria is not available right now, can I take a message?", "Yes hello, Tom here.",
	}, []string{
		"Speaking.", "Hey, what's up?", "Miller and Sons, good afternoon. | How can we help?", "Hang on a second. | Okay, go ahead.",
		"Hello, you're speaking to Anna at the front desk of the Grand Hotel, what can I do for you today?", "Hi hi, I can barely hear you. | Hello?",
		"She's in a meeting, shall I tell her something?",
	}, []string{
		"Hello, this is she.", "Yeah?", "City library, Tom speaking.", "Good evening, who am I speaking with?",
		"Hello? | Oh hi, I was expecting your call, one second please.",
	}},
	"voicemail": {"voicemail", "voicemail", "", []string{
		"Hi, you have reached the voicemail of Maria Lopez. | I can not take your call right now. | Please leave a message after the tone. | *",
		"The person you are calling is not available. | At the tone, please record your message. | When you have finished recording, you may hang up. | *",
		"Hi, this is Tom. | Leave me a message and I will call you back. | *", "You have reached five five five, one two three four. | *",
		"Your call has been forwarded to an automatic voice message system. | *", "Hello, we can not come to the phone. Leave your name and number. | *",
		"Hi it's Sam, I am out until Monday, you can try me at the office, thanks and have a great day, bye. | *",
		"Hello. | We are closed today. | Please leave a message after the beep. | *", "*",
		"Thank you for calling Harbor Clinic. Our office is closed, please leave your name and number after the tone. | *",
	}, []string{
		"Hey there, you know what to do. | *", "The subscriber you have dialed can not be reached at the moment. | Please try again later.",
		"You've got Jim's phone. | Say something nice and I'll ring you. | *", "The customer has not set up their inbox yet. | Goodbye.",
		"Hi, we're on holiday until the fifteenth, and in urgent cases you can reach my colleague Anna at the number on our website, thank you. | *",
		"The number you have called is switched off. | Record your words after the signal. | *",
	}, []string{
		"Hi, this is Kate. | I'm probably on the other line. | Give me your details and I'll ring you. | *",
		"The mobile customer you are calling is out of coverage area. | Thank you.",
		"You've reached Doctor Patel's line. | If this is an emergency hang up and dial nine one one. | Otherwise speak now. | *",
		"Welcome to the message service of five five five two two one one. | *", "Sorry, nobody's home. Talk to the machine. | *",
	}},
	"ivr": {"ivr", "", "", []string{
		"Thank you for calling Harbor Clinic. | For appointments, press one. | For billing, press two.",
		"Welcome to the city hospital. | Please listen carefully as our menu options have changed. | For the emergency room, press one.",
		"Your call is important to us. | Please stay on the line for the next available agent.",
		"This call may be recorded for quality purposes. | If you know your party's extension, dial it now.",
		"For sales, press one. For support, press two. To repeat these options, press nine.", "Hello and welcome. | To leave a message, press one. | To be called back, press two.",
	}, []string{
		"Welcome to Acme Bank. | If you are calling about a lost card, press the star key.", "All our lines are busy. | You are number four in the queue.",
		"Thanks for calling the county office. | For English, stay on the line.", "Please enter your account number followed by the pound key.",
		"You have reached the pharmacy. | To refill a prescription, say refill. | For opening hours, say hours.",
	}, []string{
		"Thank you for calling Green Energy. | Did you know you can pay your bill online? | Say billing, support, or new customer.",
		"Good day, you have reached the ministry of labour. | Key in your tax number and then hash.", "Welcome back. | To continue in English, press two.",
		"Please remain on hold and your call will be answered in the order it was received.",
	}},
	"screening": {"ivr", "", "call screening", []string{
		"Hi. The person you are calling is using a screening service. | Please say your name and why you are calling.",
		"Hi, if you record your name and reason for calling, I will see if this person is available. | *",
		"Please state your name after the beep and we will try to connect you. | *", "Before I connect you, please tell me who you are and the reason for your call.",
	}, []string{
		"This number is protected by a call filter. | Who is calling, and what is it about?", "Please tell us your name and we will see if Maria can take the call. | *",
		"Hello, I am the assistant of Maria. May I know your name and the purpose of your call?",
	}, []string{
		"Hi, Maria asked me to find out who is calling. Please tell me your name.",
		"The person you are trying to reach does not accept unknown callers. | State your business after the beep. | *",
		"Virtual assistant here. | What is this regarding?",
	}},
	"silent line": {"", "silence_timeout", "", []string{""}, []string{""}, []string{""}},
	"fax tone":    {"", "fax", "fax", []string{"FAX", "MODEM"}, []string{"FAX", "MODEM"}, []string{"FAX", "MODEM"}},
}

// heardWord is a word of a callee with its time.
type heardWord struct {
	at   time.Duration
	text string
}

// made is the sound of one callee.
type made struct {
	pcm   []int16
	words []heardWord
	about string
}

// invent makes the n-th variation of a kind.
func invent(kind string, texts []string, n int, studios []*voice.Studio) (m made) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(kind))))
	text := texts[n%len(texts)]
	studio := studios[n%len(studios)]
	who := voice.Speaker{Name: []string{"rms", "slt", "awb", "kal"}[r.IntN(4)], Rate: 0.85 + 0.4*r.Float64()}
	gain := math.Pow(10, -(18*r.Float64())/20) // peak -6 to -24 dB of full scale
	m.pcm = make([]int16, audio.Samples(time.Duration(200+r.IntN(1500))*time.Millisecond))
	hz := 0.0
	for _, phrase := range strings.Split(text, "|") {
		from := len(m.pcm)
		switch phrase = strings.TrimSpace(phrase); phrase {
		case "":
		case "*":
			hz = 350 + 1650*r.Float64()
			m.pcm = append(m.pcm, audio.Tone(hz, 0.1+0.3*r.Float64(), time.Duration(250+r.IntN(700))*time.Millisecond)...)
		case "FAX", "MODEM":
			m.pcm = append(m.pcm, audio.Tone(2100, 0.1+0.2*r.Float64(), 2600*time.Millisecond+time.Duration(r.IntN(1400))*time.Millisecond)...)
			for i := range m.pcm[from:] {
				if phrase == "MODEM" && i/(audio.Rate*45/100)%2 == 1 {
					m.pcm[from+i] = -m.pcm[from+i]
				}
			}
		default:
			m.pcm = append(m.pcm, studio.Say(context.Background(), who, phrase)...)
			words := strings.Fields(phrase)
			length := audio.Duration(len(m.pcm) - from)
			for i, w := range words {
				m.words = append(m.words, heardWord{audio.Duration(from) + length*time.Duration(2*i+1)/time.Duration(2*len(words)), w})
			}
		}
		m.pcm = append(m.pcm, make([]int16, audio.Samples(time.Duration(350+r.IntN(900))*time.Millisecond))...)
	}
	m.pcm = append(m.pcm, make([]int16, audio.Samples(40*time.Second)-min(len(m.pcm), audio.Samples(39*time.Second)))...)
	noise, snr := []string{"none", "white", "car", "hum"}[r.IntN(4)], 12+15*r.Float64()
	level := 4000 * math.Pow(10, -snr/20)
	low := 0.0
	for i := range m.pcm {
		add := 0.0
		switch low += 0.06 * (r.NormFloat64() - low); noise {
		case "white":
			add = level * r.NormFloat64()
		case "car":
			add = 5 * level * low
		case "hum":
			add = level * (math.Sin(2*math.Pi*50*float64(i)/audio.Rate) + math.Sin(2*math.Pi*150*float64(i)/audio.Rate)/2)
		}
		m.pcm[i] = int16(max(-32000, min(32000, gain*(float64(m.pcm[i])+add))))
	}
	m.pcm = audio.DecodeUlaw(nil, audio.EncodeUlaw(nil, m.pcm))
	m.about = fmt.Sprintf("%s %d (%q, %s at %.2f, level %.2f, noise %s %.0f dB, tone %.0f Hz)", kind, n, text, who.Name, who.Rate, gain, noise, snr, hz)
	return m
}

// transcriber knows what is said when, and tells it as a batch recogniser does: after the end of an utterance, late, and
// with a word in twelve wrong.
type transcriber struct {
	words []heardWord
	late  time.Duration
	deaf  bool // understands nothing: every utterance is "(speech)"
}

func (b transcriber) Listen(context.Context, conversation.Script) (conversation.Listening, error) {
	return &transcribing{transcriber: b, heard: make(chan conversation.Utterance, 16), r: rand.New(rand.NewPCG(1, 1))}, nil
}

type transcribing struct {
	transcriber
	heard      chan conversation.Utterance
	r          *rand.Rand
	id         uint64
	begin, end time.Duration
	ready      conversation.Utterance
	due        time.Duration
}

func (l *transcribing) Hear(h conversation.Heard) {
	if h.Utterance != 0 && h.Utterance != l.id {
		l.id, l.begin = h.Utterance, h.At-time.Duration(len(h.Preroll))*audio.FrameTime
	}
	if h.Voiced && h.Utterance != 0 {
		l.end = h.At
	}
	if l.due > 0 && h.At >= l.due {
		l.due = 0
		l.heard <- l.ready
	}
}

func (l *transcribing) Commit(utterance uint64) {
	var said []string
	for len(l.words) > 0 && l.words[0].at <= l.end+100*time.Millisecond {
		if w := l.words[0]; w.at >= l.begin {
			if l.r.IntN(12) == 0 {
				w.text = "uh"
			}
			said = append(said, w.text)
		}
		l.words = l.words[1:]
	}
	text := strings.Join(said, " ")
	if l.deaf {
		text = "(speech)"
	}
	l.ready, l.due = conversation.Utterance{ID: utterance, Text: text, Final: true}, l.end+l.late+600*time.Millisecond
}

func (l *transcribing) Heard() <-chan conversation.Utterance { return l.heard }
func (l *transcribing) Close() error                         { return nil }

func speakers(t *testing.T) (studios []*voice.Studio) {
	studios = append(studios, voice.New(voice.Config{Placeholder: true}))
	if _, err := exec.LookPath("flite"); err == nil {
		studios = append(studios, voice.New(voice.Config{Patience: time.Minute}))
	} else if os.Getenv("CI_REQUIRE_SPEECH") == "1" {
		t.Fatal("flite is not installed")
	} else {
		t.Log("SKIPPED for real voices: flite is not installed")
	}
	return studios
}

func known(kind string) []string  { return kinds[kind].texts }
func unseen(kind string) []string { return kinds[kind].unseen }

// Six kinds of callees in twenty variations each; 95 % of the verdicts must be right. More is printed and not promised, five
// variations each: texts that the rules were made with only after a first look (it gave 61 %), texts that they were never
// made with, the same with a model that knows the answer, and a line where nobody understands words, where only the sound
// counts.
func TestSixKindsOfCallees(t *testing.T) {
	studios := speakers(t)
	for _, c := range []struct {
		mode        string
		texts       func(kind string) []string
		deaf, model bool
		promise     int
	}{
		{mode: "words and sound", texts: known, promise: 95},
		{mode: "other words", texts: func(kind string) []string { return kinds[kind].others }},
		{mode: "unseen words", texts: unseen},
		{mode: "… and a model", texts: unseen, model: true},
		{mode: "sound alone", texts: known, deaf: true},
	} {
		right, all, variations := 0, 0, 20
		if c.promise == 0 {
			variations = 5
		}
		for _, kind := range []string{"human", "voicemail", "ivr", "screening", "silent line", "fax tone"} {
			if c.deaf && (kind == "ivr" || kind == "screening") {
				continue // they differ by words only
			}
			want, good := kinds[kind], 0
			for n := range variations {
				m := invent(kind, c.texts(kind), n, studios)
				speech := scripted.New(voice.New(voice.Config{Placeholder: true}))
				speech.Ears = transcriber{words: m.words, late: 200 * time.Millisecond, deaf: c.deaf}
				if c.model {
					speech.Brain = knowing{speech.Brain, kind}
				}
				script := juniper
				script.SilenceTimeout = 12 * time.Second
				switch kind {
				case "silent line":
				case "voicemail":
					script.Limit = 16 * time.Second
				default:
					script.Limit = 10 * time.Second
				}
				o := call{callee: says(sandbox.Step{Tone: m.pcm}), script: script, speech: speech}.hold(t)
				require.NotEmpty(t, o.Verdict)
				if o.AnsweredBy == want.answeredBy && strings.Contains(o.Verdict, want.verdict) && (want.reason == "" || o.Reason == want.reason) {
					good++
				} else {
					t.Logf("%s: %s: wrong: %q because of %q, ended %s", c.mode, m.about, o.AnsweredBy, o.Verdict, o.Reason)
				}
			}
			t.Logf("%-16s %-12s %2d of %d", c.mode, kind, good, variations)
			right, all = right+good, all+variations
		}
		t.Logf("%-16s %-12s %2d of %d (%.1f %%)", c.mode, "all", right, all, 100*float64(right)/float64(all))
		require.GreaterOrEqual(t, right*100, all*c.promise)
	}
}

// knowing is a brain whose model always knows who speaks.
type knowing struct {
	conversation.Brain
	who string
}

func (k knowing) Classify(context.Context, conversation.Script, string) (string, error) {
	return k.who, nil
}
