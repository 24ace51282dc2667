package audio_test

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
)

// said are sentences for noisy material, with the pauses of a talk between them.
var said = []string{
	"Hello, this is Maria speaking.", "I would like to make an appointment for next week.", "No.",
	"Thursday afternoon would be best, but Friday is possible too.", "Thank you very much.", "Yes, goodbye.",
}

// sounds of a line by name; each gives d of noise with about the power of a peak of 1.
func noises(studio *voice.Studio, d time.Duration) map[string][]float64 {
	n := audio.Samples(d)
	r := rand.New(rand.NewPCG(7, 7))
	out := map[string][]float64{}
	white, car, hum, street, clicks, babble := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	low, slow := 0.0, 0.0
	for i := range n {
		at := float64(i) / audio.Rate
		white[i] = r.NormFloat64()
		low += 0.06 * (r.NormFloat64() - low)
		car[i] = low
		for k := 1.0; k <= 5; k++ {
			hum[i] += math.Sin(2*math.Pi*50*k*at) / k
		}
		slow = 0.5 + 0.5*math.Sin(2*math.Pi*0.11*at) // cars pass
		street[i] = low*(0.3+slow) + 0.05*r.NormFloat64()*slow
	}
	for at := 0; at < n; at += audio.Rate/3 + r.IntN(audio.Rate) {
		for i := at; i < min(at+40, n); i++ {
			clicks[i] = r.NormFloat64() * math.Exp(-float64(i-at)/12)
		}
	}
	for v := range 7 { // seven people at once, far away
		at := v * 1300
		for at < n {
			for _, s := range studio.Say(context.Background(), voice.Speaker{Name: fmt.Sprint("b", v)}, said[(v+at)%len(said)]) {
				if at >= n {
					break
				}
				babble[at] += float64(s)
				at++
			}
			at += 800 + r.IntN(4000)
		}
	}
	out["white"], out["car"], out["hum"], out["street"], out["clicks"], out["babble"] = white, car, hum, street, clicks, babble
	return out
}

// spans of speech in a clean recording: what an ear would mark.
type span struct{ from, to int } // samples

// talk is sentences with pauses of 1.2 to 2 s, first silence of lead.
func talk(studio *voice.Studio, name string, lead time.Duration) (pcm []int16, spans []span) {
	pcm = make([]int16, audio.Samples(lead))
	for i, line := range said {
		from := len(pcm)
		pcm = append(pcm, studio.Say(context.Background(), voice.Speaker{Name: name}, line)...)
		spans = append(spans, span{from, len(pcm)})
		pcm = append(pcm, make([]int16, audio.Samples(1200*time.Millisecond+time.Duration(i%3)*400*time.Millisecond))...)
	}
	return pcm, spans
}

// mix adds noise at an SNR: speech's power while it is spoken over the noise's, in dB. The sum goes through µ-law.
func mix(pcm []int16, spans []span, noise []float64, db float64) []int16 {
	var speech, other float64
	n := 0
	for _, s := range spans {
		speech += audio.Power(pcm[s.from:s.to]) * float64(s.to-s.from)
		n += s.to - s.from
	}
	speech /= float64(n)
	for _, v := range noise[:len(pcm)] {
		other += v * v
	}
	other /= float64(len(pcm))
	gain := math.Sqrt(speech / other / math.Pow(10, db/10))
	out := make([]int16, len(pcm))
	for i := range pcm {
		out[i] = int16(max(-32768, min(32767, float64(pcm[i])+gain*noise[i])))
	}
	return audio.DecodeUlaw(nil, audio.EncodeUlaw(nil, out))
}

// figures of a detector on one recording.
type figures struct {
	missed  int           // sentences without an onset
	clipped time.Duration // worst onset later than the pre-roll could save
	open    int           // sentences whose end was not seen within 600 ms
	begun   int           // false onsets in the pauses
	talking float64       // share of the pauses (after 300 ms) taken for speech
}

func (f figures) String() string {
	return fmt.Sprintf("%d/%d/%d %3.0f%% (%v)", f.missed, f.open, f.begun, 100*f.talking, f.clipped.Round(time.Millisecond))
}

// add sums up one of so many recordings.
func (f *figures) add(g figures, of int) {
	f.missed, f.open, f.begun = f.missed+g.missed, f.open+g.open, f.begun+g.begun
	f.clipped = max(f.clipped, g.clipped)
	f.talking += g.talking / float64(of)
}

func judge(pcm []int16, spans []span) (f figures) {
	v := audio.NewVAD(audio.VADConfig{})
	frames := audio.Frames(pcm)
	speaking := make([]bool, len(frames))
	for i := range frames {
		_, speaking[i] = v.Push(&frames[i])
	}
	pauses, wrong := 0, 0
	in := func(sample int, lead, tail time.Duration) bool {
		for _, s := range spans {
			if sample >= s.from-audio.Samples(lead) && sample < s.to+audio.Samples(tail) {
				return true
			}
		}
		return false
	}
	for i := range frames {
		at := i * audio.FrameSamples
		if in(at, 60*time.Millisecond, 300*time.Millisecond) {
			continue
		}
		pauses++
		if speaking[i] {
			wrong++
			if i > 0 && !speaking[i-1] {
				f.begun++
			}
		}
	}
	for _, s := range spans {
		onset, end := -1, -1
		for i := max(s.from/audio.FrameSamples-10, 0); i < min(s.to/audio.FrameSamples+5, len(frames)); i++ {
			if speaking[i] {
				onset = i
				break
			}
		}
		for i := s.to / audio.FrameSamples; i < min(s.to/audio.FrameSamples+30, len(frames)); i++ {
			if !speaking[i] {
				end = i
				break
			}
		}
		if onset < 0 {
			f.missed++
		} else {
			f.clipped = max(f.clipped, audio.Duration(onset*audio.FrameSamples-s.from)-300*time.Millisecond)
		}
		if end < 0 {
			f.open++
		}
	}
	f.talking = float64(wrong) / float64(pauses)
	return f
}

// A talk on six kinds of noisy line at six levels, with four voices of each kind. The table says: sentences missed,
// sentences whose end was not seen within 600 ms, false onsets in the pauses, and the share of the pauses taken for
// speech; in brackets how much of a sentence's beginning the pre-roll did not save, at worst.
//
// Down to 10 dB every sentence must be found; white noise, hum, a car and clicks must never be taken for speech. A babble
// of others from the first moment on is speech until it is known, which takes about two seconds.
func TestVADOnNoisyLines(t *testing.T) {
	studios := map[string]*voice.Studio{"placeholder": voice.New(voice.Config{Placeholder: true})}
	if _, err := exec.LookPath("flite"); err == nil {
		studios["flite"] = voice.New(voice.Config{Patience: time.Minute})
	} else if os.Getenv("CI_REQUIRE_SPEECH") == "1" {
		t.Fatal("flite is not installed")
	} else {
		t.Log("SKIPPED for real voices: flite is not installed")
	}
	sounds := noises(voice.New(voice.Config{Placeholder: true}), 40*time.Second)
	names := []string{"rms", "slt", "awb", "kal"}
	for kind, studio := range studios {
		for _, noise := range []string{"white", "car", "hum", "street", "clicks", "babble"} {
			var row strings.Builder
			for _, db := range []float64{30, 20, 15, 10, 5, 0} {
				var sum figures
				for _, name := range names {
					pcm, spans := talk(studio, name, 2*time.Second)
					sum.add(judge(mix(pcm, spans, sounds[noise], db), spans), len(names))
				}
				fmt.Fprintf(&row, "| %2.0f dB: %s ", db, sum)
				if db < 10 {
					continue // printed, not promised
				}
				about := fmt.Sprintf("%s in %s at %.0f dB: %s", kind, noise, db, sum)
				require.Zero(t, sum.missed, about)
				require.Zero(t, sum.clipped, about)
				require.LessOrEqual(t, sum.open, 2, about)
				if noise == "babble" {
					require.LessOrEqual(t, sum.begun, len(names), about)
					require.Less(t, sum.talking, 0.15, about)
				} else {
					require.Zero(t, sum.begun, about)
					require.Less(t, sum.talking, 0.06, about)
				}
			}
			t.Logf("%-11s %-7s %s", kind, noise, row.String())
		}
		studio.Close()
	}
}
