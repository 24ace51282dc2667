package main_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// What is said in the spoken loop, as the recogniser writes it.
var (
	agentLines  = []string{"hello how can i help you", "sure what is your name", "thank you your appointment is booked goodbye"}
	callerLines = []string{"hello i would like to make an appointment for tomorrow morning", "my name is john smith"}
	// decoys could be understood as well.
	decoys = []string{"i want to cancel my appointment", "what time is it", "please call me back tomorrow", "my name is mary jones"}
)

// spokenWords are a server with the three parts of a cascade, made of programs: pocketsphinx hears with a grammar of the
// sentences, a script thinks, flite speaks.
type spokenWords struct {
	*httptest.Server
	t       *testing.T
	grammar string
}

// speechProgram finds a program of the spoken loop, or skips the test.
func speechProgram(t *testing.T, name, debian string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI_REQUIRE_SPEECH") != "" {
		t.Fatalf("%s is not installed, and CI_REQUIRE_SPEECH is set", name)
	}
	t.Skipf("SKIPPED: %s is not installed; on Debian: apt-get install %s", name, debian)
}

func newSpokenWords(t *testing.T) *spokenWords {
	s := &spokenWords{t: t, grammar: filepath.Join(t.TempDir(), "talk.jsgf")}
	var all []string
	for _, lines := range [][]string{agentLines, callerLines, decoys} {
		all = append(all, lines...)
	}
	require.NoError(t, os.WriteFile(s.grammar, []byte("#JSGF V1.0;\ngrammar talk;\npublic <line> = "+strings.Join(all, " | ")+";\n"), 0o600))
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/transcriptions", s.transcribe)
	mux.HandleFunc("POST /v1/chat/completions", s.think)
	mux.HandleFunc("POST /v1/audio/speech", s.speak)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *spokenWords) transcribe(w http.ResponseWriter, r *http.Request) {
	file, _, err := r.FormFile("file")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wav, err := audio.ReadWAV(file)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, err := s.recognise(r.Context(), wav.Channels[0], wav.Rate)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"text": text})
}

// recognise is what pocketsphinx understands: in a batch, so that the whole utterance's level counts.
func (s *spokenWords) recognise(ctx context.Context, pcm []int16, rate int) (string, error) {
	dir, err := os.MkdirTemp("", "spoken-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	const to = 16000
	sound := make([]int16, to*3/10)
	sound = audio.NewResampler(rate, to).Push(sound, pcm)
	sound = append(sound, make([]int16, to*6/10)...)
	if err := os.WriteFile(filepath.Join(dir, "a.wav"), wavFile(sound, to), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "list"), []byte("a\n"), 0o600); err != nil {
		return "", err
	}
	const model = "/usr/share/pocketsphinx/model/en-us/"
	run := exec.CommandContext(ctx, "pocketsphinx_batch", "-adcin", "yes", "-adchdr", "44", "-cepdir", dir, "-cepext", ".wav",
		"-ctl", filepath.Join(dir, "list"), "-hyp", filepath.Join(dir, "hyp"), "-hmm", model+"en-us", "-dict", model+"cmudict-en-us.dict",
		"-jsgf", s.grammar, "-cmn", "batch", "-logfn", "/dev/null")
	if out, err := run.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hyp"))
	if err != nil {
		return "", err
	}
	words, _, _ := strings.Cut(string(text), "(")
	return strings.TrimSpace(words), nil
}

// think answers by how much the caller has said.
func (s *spokenWords) think(w http.ResponseWriter, r *http.Request) {
	var c struct {
		Stream   bool
		Messages []struct{ Role, Content string }
	}
	_ = json.NewDecoder(r.Body).Decode(&c)
	if !c.Stream { // the analysis of the call
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	delta := `{"content":"Sure, what is your name?"}`
	for _, m := range c.Messages {
		if m.Role == "user" && strings.Contains(m.Content, "my name is") {
			delta = `{"content":"Thank you, your appointment is booked. Goodbye.","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"end_call","arguments":"{}"}}]}`
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":%s}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", delta)
}

func (s *spokenWords) speak(w http.ResponseWriter, r *http.Request) {
	var line struct {
		Input  string
		Format string `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&line); err != nil || line.Format != "pcm" {
		http.Error(w, "pcm is what there is", http.StatusBadRequest)
		return
	}
	pcm := s.flite(line.Input, 24000)
	raw := make([]byte, 0, 2*len(pcm))
	for _, v := range pcm {
		raw = binary.LittleEndian.AppendUint16(raw, uint16(v))
	}
	w.Header().Set("Content-Type", "audio/pcm")
	_, _ = w.Write(raw)
}

// flite speaks a text.
func (s *spokenWords) flite(text string, rate int) []int16 {
	file := filepath.Join(s.t.TempDir(), "line.wav")
	out, err := exec.Command("flite", "-voice", "rms", "-t", text, "-o", file).CombinedOutput()
	if err != nil {
		s.t.Errorf("flite: %v: %s", err, out)
		return nil
	}
	in, err := os.Open(file)
	if err != nil {
		s.t.Error(err)
		return nil
	}
	defer in.Close()
	wav, err := audio.ReadWAV(in)
	if err != nil {
		s.t.Error(err)
		return nil
	}
	return audio.NewResampler(wav.Rate, rate).Push(nil, wav.Channels[0])
}

// wavFile is a file of one channel of 16 bit samples.
func wavFile(pcm []int16, rate int) []byte {
	var b bytes.Buffer
	size := uint32(2 * len(pcm))
	b.WriteString("RIFF")
	for _, v := range []any{36 + size, [8]byte([]byte("WAVEfmt ")), uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate),
		uint16(2), uint16(16), [4]byte([]byte("data")), size, pcm} {
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	return b.Bytes()
}

// understand is what the recogniser makes of a channel, line by line: what is apart by a second of silence.
func (s *spokenWords) understand(pcm []int16) (lines []string) {
	s.t.Helper()
	const gap = 50 // frames
	from, last := -1, 0
	end := func() {
		if from < 0 || last-from < 10 {
			return
		}
		text, err := s.recognise(s.t.Context(), pcm[max(from-8, 0)*audio.FrameSamples:min((last+8)*audio.FrameSamples, len(pcm))], audio.Rate)
		require.NoError(s.t, err)
		lines = append(lines, text)
	}
	for i := range len(pcm) / audio.FrameSamples {
		if audio.Power(pcm[i*audio.FrameSamples:(i+1)*audio.FrameSamples]) > 40_000 {
			if from < 0 || i-last > gap {
				end()
				from = i
			}
			last = i
		}
	}
	end()
	return lines
}

// The spoken loop: a telephone plays sentences made by flite, over SIP and RTP; pocketsphinx hears them, a script thinks,
// flite answers. Both sides must be understood to the word: on the record, in both channels of the recording, and in what
// the telephone heard.
func TestTheSpokenLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("talks for half a minute")
	}
	siptest.Program(t, "baresip")
	speechProgram(t, "pocketsphinx_batch", "pocketsphinx pocketsphinx-en-us")
	speechProgram(t, "flite", "flite")
	words := newSpokenWords(t)

	// The caller waits for the greeting, asks, waits for the question, says the name and listens.
	pause := func(d time.Duration) []int16 { return make([]int16, audio.Samples(d)) }
	var says []int16
	for _, part := range [][]int16{pause(3500 * time.Millisecond), words.flite(callerLines[0], audio.Rate), pause(4 * time.Second),
		words.flite(callerLines[1], audio.Rate), pause(12 * time.Second)} {
		says = append(says, part...)
	}
	source := filepath.Join(t.TempDir(), "caller.wav")
	require.NoError(t, os.WriteFile(source, wavFile(says, audio.Rate), 0o600))
	phone := siptest.StartBaresip(t, siptest.Telephone{Source: source})

	x := &exchange{crashed: crashed{program: built(t), dir: t.TempDir()}, sip: siptest.FreePort(t)}
	x.args = []string{"--data-dir", x.dir, "--log-level", "warn"}
	x.found(t)
	url := words.URL + "/v1"
	x.args = append(x.args, "--speech", "cascade", "--stt-url", url, "--stt-model", "pocketsphinx", "--llm-url", url, "--llm-model", "script",
		"--tts-url", url, "--tts-model", "flite", "--tts-voice", "rms")
	x.boot(t, phone.Port)
	x.agent = x.post(t, "/v1/agents", `{"name":"Nora","welcome_msg":"Hello, how can I help you?","greeting_interrupt":false}`)["data"].(map[string]any)["id"].(string)
	x.post(t, "/v1/phone-numbers", fmt.Sprintf(`{"number":"+12125550100","label":"Desk","agent_id":%q,"inbound":true}`, x.agent))

	phone.Do(t, "dial", fmt.Sprintf("sip:+12125550100@127.0.0.1:%d", x.sip))
	phone.Wait(t, "CALL_ESTABLISHED", 0)
	id := x.newest(t)
	phone.Wait(t, "CALL_CLOSED", 0)
	call := x.until(t, id, "completed")
	require.Equal(t, "agent_hangup", call.EndedReason)

	t.Run("the record has both sides to the word", func(t *testing.T) {
		var said []string
		for _, turn := range x.turns(t, id) {
			if turn.Role == "agent" || turn.Role == "user" {
				said = append(said, strings.Join(strings.FieldsFunc(strings.ToLower(turn.Content), func(r rune) bool { return !(r >= 'a' && r <= 'z') }), " "))
			}
		}
		require.Equal(t, []string{agentLines[0], callerLines[0], agentLines[1], callerLines[1], agentLines[2]}, said)
	})
	agent, caller := x.channels(t, id)
	t.Run("the agent is understood in the left channel", func(t *testing.T) { require.Equal(t, agentLines, words.understand(agent)) })
	t.Run("the caller is understood in the right channel", func(t *testing.T) { require.Equal(t, callerLines, words.understand(caller)) })
	t.Run("the telephone heard the agent", func(t *testing.T) {
		file, err := os.Open(phone.Heard(t))
		require.NoError(t, err)
		defer file.Close()
		wav, err := audio.ReadWAV(file)
		require.NoError(t, err)
		require.Equal(t, agentLines, words.understand(audio.NewResampler(wav.Rate, audio.Rate).Push(nil, wav.Channels[0])))
	})
	x.at.stop(t)
}

// spokenTurn is an entry of transcript_object.
type spokenTurn struct{ Role, Content string }

// turns is a call's transcript_object.
func (x *exchange) turns(t *testing.T, id string) []spokenTurn {
	t.Helper()
	r := x.do(t, http.MethodGet, "/v1/calls/"+id, "")
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	var body struct {
		Data struct {
			Turns []spokenTurn `json:"transcript_object"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal(text, &body), string(text))
	return body.Data.Turns
}
