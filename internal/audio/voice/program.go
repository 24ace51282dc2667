package voice

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/audio"
)

const (
	// programTimeout ends a program that hangs.
	programTimeout = 5 * time.Second
	// maxText is what a program is given of one line, in bytes; the conversation speaks by sentences.
	maxText = 2000
	// espeakWords per minute are rate 1.
	espeakWords = 165
)

// fliteVoices in the order that names are mapped to.
var fliteVoices = []string{"rms", "slt", "awb", "kal"}

// programs are the paths of what is installed; empty for what is not.
type programs struct{ flite, espeak string }

func findPrograms() (p programs) {
	p.flite, _ = exec.LookPath("flite")
	p.espeak, _ = exec.LookPath("espeak-ng")
	return p
}

// command is a program ready to speak: it reads text and writes WAV, to its standard output or, where it has to seek
// in its output, to a file that is named by one more argument.
type command struct {
	name, path string
	args       []string
	toFile     bool
}

// language lets nothing but a language tag become an argument.
var language = regexp.MustCompile(`^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$`)

// forLine chooses the program for a line; nil when there is none. Arguments are ours alone, except for a language tag
// that looks like one.
func (p programs) forLine(l line) *command {
	english := strings.EqualFold(l.who.Language, "en") || strings.HasPrefix(strings.ToLower(l.who.Language), "en-")
	switch {
	case english && p.flite != "":
		stretch := strconv.FormatFloat(1/l.who.Rate, 'f', 3, 64)
		return &command{name: "flite", path: p.flite, toFile: true, args: []string{
			"-voice", l.who.fliteVoice(), "--setf", "duration_stretch=" + stretch, "-f", "/dev/stdin", "-o"}}
	case p.espeak != "" && language.MatchString(l.who.Language):
		speed := strconv.Itoa(int(espeakWords * l.who.Rate))
		pitch := strconv.Itoa(30 + int(l.who.number()%40))
		return &command{name: "espeak-ng", path: p.espeak, args: []string{
			"-v", strings.ToLower(l.who.Language), "-s", speed, "-p", pitch, "--stdin", "--stdout"}}
	}
	return nil
}

func (w Speaker) fliteVoice() string {
	if slices.Contains(fliteVoices, w.Name) {
		return w.Name
	}
	return fliteVoices[w.number()%uint32(len(fliteVoices))]
}

// speak runs the program.
func (c command) speak(text string) ([]int16, error) {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	out, err := c.run(text)
	if err != nil {
		return nil, err
	}
	wav, err := audio.ReadWAV(bytes.NewReader(out))
	if err != nil {
		return nil, fmt.Errorf("output of %s: %w", c.name, err)
	}
	pcm := level(trim(audio.NewResampler(wav.Rate, audio.Rate).Push(nil, wav.Channels[0])))
	if len(pcm) == 0 {
		return nil, fmt.Errorf("%s gave no sound", c.name)
	}
	return pcm, nil
}

func (c command) run(text string) (wav []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), programTimeout)
	defer cancel()
	args, file := c.args, ""
	if c.toFile {
		f, err := os.CreateTemp("", "callwright-voice-*.wav")
		if err != nil {
			return nil, fmt.Errorf("make a file for %s: %w", c.name, err)
		}
		f.Close()
		file = f.Name()
		defer os.Remove(file)
		args = append(slices.Clone(args), file)
	}
	run := exec.CommandContext(ctx, c.path, args...)
	run.Stdin = strings.NewReader(text + "\n")
	run.WaitDelay = time.Second
	wav, err = run.Output()
	if err == nil && c.toFile {
		wav, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", c.name, err)
	}
	return wav, nil
}

// trim leaves 40 ms of the silence at both ends: pauses are the conversation's.
func trim(pcm []int16) []int16 {
	const margin = 2 * audio.FrameSamples
	loud := func(s int16) bool { return s > 250 || s < -250 }
	first := slices.IndexFunc(pcm, loud)
	if first < 0 {
		return nil
	}
	last := len(pcm) - 1
	for !loud(pcm[last]) {
		last--
	}
	return pcm[max(first-margin, 0):min(last+margin, len(pcm))]
}

// level brings sound to a peak of half of full scale.
func level(pcm []int16) []int16 {
	peak := 1
	for _, s := range pcm {
		peak = max(peak, int(s), -int(s))
	}
	out := make([]int16, len(pcm))
	for i, s := range pcm {
		out[i] = int16(int(s) * 16384 / peak)
	}
	return out
}
