package voice

import (
	"math"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/callwright/callwright/internal/audio"
)

// How long the parts of placeholder speech are at rate 1: five syllables a second with their gaps.
const (
	syllableTime = 160 * time.Millisecond
	wordGap      = 40 * time.Millisecond
	clauseGap    = 160 * time.Millisecond
	sentenceGap  = 280 * time.Millisecond
	edgeTime     = 20 * time.Millisecond // a syllable's rise and fall
	peakLevel    = 9000.0
)

// vowels are pairs of formants in Hz: a, e, i, o, u.
var vowels = [][2]float64{{730, 1090}, {530, 1840}, {300, 2200}, {570, 840}, {320, 870}}

const waveSize = 256

// waves has one period of each vowel by pitch.
var waves sync.Map // int → *[5][waveSize]float64

// placeholder hums a text. It is a pure function of its arguments: 0.1 ms of work for a second of sound.
func placeholder(who Speaker, text string) []int16 {
	pitch := 90 + int(who.number()%8)*18
	wave := wavesOf(pitch)
	stretch := 1 / who.Rate
	pcm := make([]int16, 0, len(text)*audio.Samples(70*time.Millisecond))
	phase, count := 0.0, 0
	words := strings.Fields(text)
	for i, word := range words {
		for _, vowel := range syllables(word) {
			// The voice falls towards the end and moves a little from syllable to syllable.
			hz := float64(pitch) * (1.1 - 0.2*float64(i)/float64(len(words))) * (1 + 0.04*math.Sin(float64(count)*2.4))
			pcm, phase = syllable(pcm, &wave[vowel], hz, phase, time.Duration(float64(syllableTime)*stretch))
			count++
		}
		if i < len(words)-1 {
			pcm = append(pcm, make([]int16, audio.Samples(time.Duration(float64(gapAfter(word))*stretch)))...)
		}
	}
	if count == 0 {
		pcm, _ = syllable(pcm, &wave[0], float64(pitch), 0, syllableTime)
	}
	return pcm
}

func syllable(pcm []int16, wave *[waveSize]float64, hz, phase float64, d time.Duration) ([]int16, float64) {
	n, edge := audio.Samples(d), audio.Samples(edgeTime)
	step := hz * waveSize / audio.Rate
	for i := range n {
		gain := min(1, float64(min(i+1, n-i))/float64(edge))
		pcm = append(pcm, int16(peakLevel*gain*wave[int(phase)%waveSize]))
		phase = math.Mod(phase+step, waveSize)
	}
	return pcm, phase
}

func gapAfter(word string) time.Duration {
	switch word[len(word)-1] {
	case '.', '!', '?':
		return sentenceGap
	case ',', ';', ':':
		return clauseGap
	}
	return wordGap
}

// syllables guesses the vowels of a word: one per group of vowels, per digit and per letter of a script without vowel
// letters.
func syllables(word string) (found []int) {
	inVowel := false
	for _, r := range strings.ToLower(word) {
		vowel := strings.IndexRune("aeiou", r)
		switch {
		case r == 'y' && !inVowel:
			vowel = 2
		case r > unicode.MaxLatin1 && unicode.IsLetter(r), unicode.IsDigit(r):
			vowel, inVowel = int(r)%len(vowels), false
		}
		if vowel >= 0 && !inVowel {
			found = append(found, vowel)
		}
		inVowel = vowel >= 0
	}
	if len(found) == 0 && strings.IndexFunc(word, unicode.IsLetter) >= 0 {
		found = append(found, 1)
	}
	return found
}

func wavesOf(pitch int) *[5][waveSize]float64 {
	if w, ok := waves.Load(pitch); ok {
		return w.(*[5][waveSize]float64)
	}
	var w [5][waveSize]float64
	for v, formants := range vowels {
		peak := 0.0
		for i := range w[v] {
			for k := 1; float64(k*pitch) < 3400; k++ {
				hz := float64(k * pitch)
				gain := 0.15 / float64(k)
				for _, formant := range formants {
					gain += 1 / (1 + math.Pow((hz-formant)/120, 2)) / 2
				}
				w[v][i] += gain * math.Sin(2*math.Pi*float64(k*i)/waveSize+float64(k*k))
			}
			peak = max(peak, math.Abs(w[v][i]))
		}
		for i := range w[v] {
			w[v][i] /= peak
		}
	}
	stored, _ := waves.LoadOrStore(pitch, &w)
	return stored.(*[5][waveSize]float64)
}
