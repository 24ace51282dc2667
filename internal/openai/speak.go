package openai

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Speech is something to say.
type Speech struct {
	Text  string
	Voice string
	// Speed is 0.25 to 4; 0 and 1 are the voice's own. It is left out where the server does not know it.
	Speed float64
}

// What a server is asked for, best first: raw samples come without a header, but many servers know WAV only.
var soundFormats = []string{"pcm", "wav"}

const (
	// pcmRate is that of raw samples, unless the server says something else (spec: OpenAI API, response_format pcm).
	pcmRate = 24000
	// maxLag is how far the sound may fall behind the time it takes to hear it, once it has begun.
	maxLag = 3 * time.Second
)

// Speak asks for the sound of a text and gives it to emit as it comes, one channel at the rate that the server chose,
// the same for all pieces; nobody changes a piece afterwards. There is one attempt; the error is an [Error], or emit's.
// A server that sends slower than the sound is heard is ErrUnavailable, and so is one that sends none.
// spec: OpenAI API, POST /audio/speech.
func (c *Client) Speak(ctx context.Context, s Speech, emit func(pcm []int16, rate int) error) error {
	var first error
	for ask := c.speaking.Load(); int(ask) < 2*len(soundFormats); ask++ {
		format, speed := soundFormats[ask/2], s.Speed
		if ask%2 == 1 {
			if speed == 0 || speed == 1 {
				continue // it was asked without before
			}
			speed = 0
		}
		begun := false
		err := c.speak(ctx, s, format, speed, func(pcm []int16, rate int) error {
			begun = true
			return emit(pcm, rate)
		})
		if err == nil {
			if first != nil {
				c.speaking.Store(ask)
			}
			return nil
		}
		first = or(first, err)
		if begun || ctx.Err() != nil || !mayBeSound(err) {
			return first
		}
	}
	return first
}

// mayBeSound reports refusals that another format, or none of the speed, may avoid.
func mayBeSound(err error) bool {
	var e *Error
	if !errors.As(err, &e) || hopeless[e.Code] {
		return false
	}
	text := strings.ToLower(e.Code + " " + e.param + " " + e.Detail)
	if strings.Contains(text, "voice") && !strings.Contains(text, "format") && !strings.Contains(text, "speed") {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType, http.StatusNotImplemented:
		return true
	}
	return errors.Is(e, errCompressed)
}

var errCompressed = errors.New("the server sends compressed sound; pcm or wav is needed")

func (c *Client) speak(ctx context.Context, s Speech, format string, speed float64, emit func([]int16, int) error) error {
	request := map[string]any{"model": c.config.Model, "input": s.Text, "response_format": format}
	if s.Voice != "" {
		request["voice"] = s.Voice
	}
	if speed != 0 && speed != 1 {
		request["speed"] = speed
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	resp, w, err := c.post(ctx, "/audio/speech", "application/json", "audio/*", body)
	if err != nil {
		return err
	}
	defer w.stop()
	defer func() { _ = resp.Body.Close() }()
	sent := error(nil)
	err = readSound(resp, w, func(pcm []int16, rate int) error {
		sent = emit(pcm, rate)
		return sent
	})
	switch {
	case sent != nil:
		return sent
	case err != nil:
		return c.failure(w.ctx, err, w.note)
	}
	return nil
}

// readSound tells raw samples from a WAV file and from what can not be used, and reads either.
func readSound(resp *http.Response, w *watch, emit func([]int16, int) error) error {
	in := bufio.NewReaderSize(resp.Body, 16<<10)
	kind, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	form := layout{coding: 1, bits: 16, channels: 1, rate: pcmRate}
	switch {
	case len(head) < 4:
		return &Error{Kind: ErrUnavailable, Status: w.note.status, Cause: errors.New("the answer holds no sound")}
	case string(head) == "RIFF":
		if form, err = readWAVHead(in); err != nil {
			return err
		}
	case kind == "application/json":
		text, err := readText(in, kind)
		return or(err, error(&Error{Kind: ErrMalformed, Cause: fmt.Errorf("a text of %d bytes instead of sound", len(text))}))
	case string(head[:3]) == "ID3" || string(head) == "OggS" || string(head) == "fLaC" || head[0] == 0xff && head[1]&0xe0 == 0xe0 && kind == "audio/mpeg":
		return &Error{Kind: ErrRefused, Cause: errCompressed}
	case strings.HasPrefix(kind, "text/"):
		return &Error{Kind: ErrMalformed, Cause: errors.New("a text instead of sound")}
	default:
		if rate, err := strconv.Atoi(params["rate"]); err == nil && rate >= 4000 && rate <= 192000 {
			form.rate = rate
		}
	}
	return form.read(in, w, emit)
}

// layout is how samples lie in a stream.
type layout struct {
	coding, bits, channels, rate int
}

// readWAVHead reads up to the first sample. Sizes are not trusted: who streams does not know them.
func readWAVHead(r io.Reader) (l layout, err error) {
	bad := func(why string) (layout, error) { return l, &Error{Kind: ErrMalformed, Cause: errors.New(why)} }
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[8:]) != "WAVE" {
		return bad("not a WAV file")
	}
	for range 32 { // chunks
		var chunk [8]byte
		if _, err := io.ReadFull(r, chunk[:]); err != nil {
			return l, err
		}
		size := int64(binary.LittleEndian.Uint32(chunk[4:]))
		switch {
		case string(chunk[:4]) == "data" && l.rate == 0:
			return bad("the WAV file has no format before its data")
		case string(chunk[:4]) == "data":
			return l, nil
		case size > 1<<20:
			return bad("the WAV file has an oversized chunk")
		}
		content := make([]byte, size+size&1)
		if _, err := io.ReadFull(r, content); err != nil {
			return l, err
		}
		if string(chunk[:4]) != "fmt " {
			continue
		}
		if size < 16 {
			return bad("the WAV file has a short format")
		}
		l = layout{
			coding: int(binary.LittleEndian.Uint16(content)), channels: int(binary.LittleEndian.Uint16(content[2:])),
			rate: int(binary.LittleEndian.Uint32(content[4:])), bits: int(binary.LittleEndian.Uint16(content[14:])),
		}
		if l.coding == 0xfffe && size >= 26 {
			l.coding = int(binary.LittleEndian.Uint16(content[24:])) // extensible: the real coding is in the sub-format
		}
		pcm, float := l.coding == 1 && l.bits == 16, l.coding == 3 && l.bits == 32
		if !pcm && !float || l.channels < 1 || l.channels > 8 || l.rate < 4000 || l.rate > 192000 {
			return bad(fmt.Sprintf("WAV of coding %d with %d bits, %d channels at %d Hz is not supported", l.coding, l.bits, l.channels, l.rate))
		}
	}
	return bad("the WAV file has no data")
}

// read gives the samples as they come.
func (l layout) read(r io.Reader, w *watch, emit func([]int16, int) error) error {
	width := l.bits / 8 * l.channels
	buffer := make([]byte, 9600)
	have, total, waited := 0, 0, time.Duration(0) // for the server; not for who listens
	for {
		began := time.Now()
		n, err := r.Read(buffer[have:])
		waited += time.Since(began)
		have += n
		whole := have / width * width
		// Half a piece is kept back only while more may come at once: every millisecond of the first sound counts.
		if pcm := l.samples(buffer[:whole]); len(pcm) > 0 {
			total += len(pcm)
			w.timer.Stop()
			if err := emit(pcm, l.rate); err != nil {
				return err
			}
		}
		if n > 0 {
			w.touch()
		}
		have = copy(buffer, buffer[whole:have])
		switch heard := time.Duration(total) * time.Second / time.Duration(l.rate); {
		case errors.Is(err, io.EOF) && total == 0:
			return &Error{Kind: ErrUnavailable, Status: w.note.status, Cause: errors.New("the answer holds no sound")}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case waited-heard > maxLag:
			return &Error{Kind: ErrUnavailable, Status: w.note.status, Cause: errors.New("the sound comes slower than it is heard")}
		}
	}
}

// samples takes the first channel.
func (l layout) samples(raw []byte) []int16 {
	width := l.bits / 8 * l.channels
	pcm := make([]int16, len(raw)/width)
	for i := range pcm {
		if at := raw[i*width:]; l.coding == 3 {
			f := math.Float32frombits(binary.LittleEndian.Uint32(at))
			pcm[i] = int16(max(min(float64(f)*32767, math.MaxInt16), math.MinInt16))
		} else {
			pcm[i] = int16(binary.LittleEndian.Uint16(at))
		}
	}
	return pcm
}
