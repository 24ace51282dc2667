package voice_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/audio/voice"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sentence = "Hi Maria, this is Juniper from Harbor Dental. Is now a good time?"

func TestPlaceholder(t *testing.T) {
	s := voice.New(voice.Config{Placeholder: true})
	say := func(name, text string, rate float64) []int16 {
		return s.Say(t.Context(), voice.Speaker{Name: name, Rate: rate}, text)
	}
	t.Run("lasts about as long as a person would need", func(t *testing.T) {
		require.InDelta(t, 4.3, audio.Duration(len(say("a", sentence, 1))).Seconds(), 1)
		require.InDelta(t, 0.35, audio.Duration(len(say("a", "Hello?", 1))).Seconds(), 0.1)
		require.InDelta(t, 2, audio.Duration(len(say("a", "你好，我想预约明天早上的时间", 1))).Seconds(), 0.6)
	})
	t.Run("follows the rate", func(t *testing.T) {
		slow, normal, fast := len(say("a", sentence, 0.5)), len(say("a", sentence, 1)), len(say("a", sentence, 2))
		require.InDelta(t, 2, float64(slow)/float64(normal), 0.01)
		require.InDelta(t, 0.5, float64(fast)/float64(normal), 0.01)
	})
	t.Run("is the same in every studio, and another for another voice", func(t *testing.T) {
		other := voice.New(voice.Config{Placeholder: true})
		require.Equal(t, say("rms", sentence, 1), other.Say(t.Context(), voice.Speaker{Name: "rms"}, sentence))
		require.NotEqual(t, say("rms", sentence, 1), say("slt", sentence, 1))
	})
	t.Run("is heard as speech and never as a beep", func(t *testing.T) {
		for _, name := range []string{"", "rms", "slt", "awb", "kal", "alloy", "nova"} {
			heard, beeps := listen(append(say(name, sentence, 1), make([]int16, audio.Rate)...))
			require.Greater(t, heard, 3500*time.Millisecond, "voice %s", name)
			require.Zero(t, beeps, "voice %s", name)
		}
	})
	t.Run("has a sound for texts without words", func(t *testing.T) {
		for _, text := range []string{"", " ", "?!", "—", "7", "\x00", "ß"} {
			require.NotEmpty(t, say("a", text, 1), "%q", text)
		}
	})
}

// listen tells how long the sound counts as speech, and in how many frames a beep was found.
func listen(pcm []int16) (speech time.Duration, beeps int) {
	vad, beep := audio.NewVAD(audio.VADConfig{}), audio.ToneDetector{}
	for _, f := range audio.Frames(pcm) {
		if _, speaking := vad.Push(&f); speaking {
			speech += audio.FrameTime
		}
		if beep.Push(&f).Beep {
			beeps++
		}
	}
	return speech, beeps
}

// install puts shell scripts named like the voice programs onto an otherwise empty path.
func install(t *testing.T, scripts map[string]string) {
	dir := t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700))
	}
	t.Setenv("PATH", dir)
}

// give ends a script by handing out a second of 440 Hz: to the file that a -o last but one names, else to the output.
func give(t *testing.T) string {
	return `while [ $# -gt 1 ]; do [ "$1" = -o ] && exec /bin/cp ` + tone(t) + ` "$2"; shift; done; exec /bin/cat ` + tone(t)
}

// tone is a WAV file of that.
func tone(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "tone.wav")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w, err := audio.NewStereoWAV(f)
	require.NoError(t, err)
	for _, frame := range audio.Frames(audio.Tone(440, 0.1, time.Second)) {
		require.NoError(t, w.Write(&frame, nil))
	}
	require.NoError(t, w.Close())
	return path
}

func TestPrograms(t *testing.T) {
	who := voice.Speaker{Name: "rms"}
	fallback := voice.New(voice.Config{Placeholder: true}).Say(t.Context(), who, sentence)
	t.Run("get the text on standard input and never as an argument", func(t *testing.T) {
		dir := t.TempDir()
		install(t, map[string]string{"flite": `echo "$@" > ` + dir + `/args; /bin/cat > ` + dir + `/stdin; ` + give(t)})
		s := voice.New(voice.Config{Patience: 10 * time.Second})
		pcm := s.Say(t.Context(), who, "-o /tmp/x `id`")
		require.InDelta(t, audio.Rate, len(pcm), 500)
		args, err := os.ReadFile(dir + "/args")
		require.NoError(t, err)
		require.Regexp(t, `^-voice rms --setf duration_stretch=1.000 -f /dev/stdin -o \S+\.wav\n$`, string(args))
		text, err := os.ReadFile(dir + "/stdin")
		require.NoError(t, err)
		require.Equal(t, "-o /tmp/x `id`\n", string(text))
	})
	t.Run("run once for a line that is said again", func(t *testing.T) {
		dir := t.TempDir()
		install(t, map[string]string{"flite": `echo run >> ` + dir + `/runs; ` + give(t)})
		s := voice.New(voice.Config{Patience: 10 * time.Second})
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { s.Say(t.Context(), who, sentence) })
		}
		calls.Wait()
		runs, err := os.ReadFile(dir + "/runs")
		require.NoError(t, err)
		require.Equal(t, "run\n", string(runs))
	})
	t.Run("are chosen by language, and only a language tag becomes an argument", func(t *testing.T) {
		dir := t.TempDir()
		script := `echo "$0 $2" | /bin/sed 's|.*/||' >> ` + dir + `/who; ` + give(t)
		install(t, map[string]string{"flite": script, "espeak-ng": script})
		s := voice.New(voice.Config{Patience: 10 * time.Second})
		for _, lang := range []string{"en", "EN-gb", "de", "--path=/tmp", "../x", "zh-Hans"} {
			s.Say(t.Context(), voice.Speaker{Name: "rms", Language: lang}, sentence)
		}
		ran, err := os.ReadFile(dir + "/who")
		require.NoError(t, err)
		require.Equal(t, "flite rms\nflite rms\nespeak-ng de\nespeak-ng zh-hans\n", string(ran))
	})
	for name, script := range map[string]string{
		"fail":          "exit 3",
		"give no sound": "exit 0",
		"give nonsense": "echo hello",
	} {
		t.Run("that "+name+" are replaced by the placeholder", func(t *testing.T) {
			install(t, map[string]string{"flite": script})
			s := voice.New(voice.Config{Patience: 10 * time.Second})
			require.Equal(t, fallback, s.Say(t.Context(), who, sentence))
		})
	}
	t.Run("that are late are replaced now and used the next time", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, exec.Command("mkfifo", dir+"/gate").Run())
		install(t, map[string]string{"flite": `read line < ` + dir + `/gate; ` + give(t)})
		s := voice.New(voice.Config{Patience: time.Millisecond})
		require.Equal(t, fallback, s.Say(t.Context(), who, sentence))
		require.NoError(t, os.WriteFile(dir+"/gate", []byte("go\n"), 0))
		s.Close()
		require.NotEqual(t, fallback, s.Say(t.Context(), who, sentence))
	})
	t.Run("do not hold a caller that was canceled", func(t *testing.T) {
		dir := t.TempDir()
		require.NoError(t, exec.Command("mkfifo", dir+"/gate").Run())
		install(t, map[string]string{"flite": `read line < ` + dir + `/gate`})
		s := voice.New(voice.Config{Patience: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, fallback, s.Say(ctx, who, sentence))
		require.NoError(t, os.WriteFile(dir+"/gate", []byte("go\n"), 0))
		s.Close()
	})
}

func TestCacheIsBounded(t *testing.T) {
	s := voice.New(voice.Config{Placeholder: true, CacheBytes: 1 << 20})
	first := s.Say(t.Context(), voice.Speaker{}, "line one")
	require.Same(t, &first[0], &s.Say(t.Context(), voice.Speaker{}, "line one")[0], "said again, it is the same sound")
	for range 40 {
		s.Say(t.Context(), voice.Speaker{}, strings.Repeat("some other words ", 10)+time.Now().String())
	}
	require.NotSame(t, &first[0], &s.Say(t.Context(), voice.Speaker{}, "line one")[0], "the oldest line had to go")
}

func TestInstalledPrograms(t *testing.T) {
	lines := []string{
		sentence, "Hello?", "Please leave a message after the tone.", "For appointments, press one. For billing, press two.",
		"I have made a note of it. Is there anything else I can help you with?", "No, that is all. Thank you, goodbye.",
	}
	fallback := voice.New(voice.Config{Placeholder: true})
	for program, who := range map[string]voice.Speaker{"flite": {Name: "rms"}, "espeak-ng": {Language: "de"}} {
		t.Run(program, func(t *testing.T) {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is not installed", program)
			}
			s := voice.New(voice.Config{Patience: 10 * time.Second})
			for _, text := range lines {
				pcm := s.Say(t.Context(), who, text)
				require.NotEqual(t, fallback.Say(t.Context(), who, text), pcm, "the placeholder spoke")
				heard, beeps := listen(append(append(make([]int16, 1600), pcm...), make([]int16, 1600)...))
				require.Zero(t, beeps, text)
				require.Greater(t, heard, audio.Duration(len(pcm))*6/10, text)
			}
		})
	}
}

func BenchmarkPlaceholder(b *testing.B) {
	s := voice.New(voice.Config{Placeholder: true, CacheBytes: 1})
	names, samples, i := []string{"a", "b"}, 0, 0
	for b.Loop() {
		samples += len(s.Say(b.Context(), voice.Speaker{Name: names[i%2]}, sentence)) // never the line said last
		i++
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/audio.Duration(samples).Seconds(), "µs/audio-s")
}
