package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"
)

// Sound is something that was said.
type Sound struct {
	// PCM is one channel at Rate samples per second.
	PCM  []int16
	Rate int
	// Language is the ISO 639-1 code of what is spoken. Empty: the server finds out.
	Language string
	// Prompt are words that may come: names, a topic. Empty is fine.
	Prompt string
}

// Transcribe asks for the text of a sound; empty when nobody said anything. partial, which may be nil, is told the text
// so far while the server streams it; servers that do not are asked for all of it, and not for a stream again. There is
// one attempt; the error is an [Error]. spec: OpenAI API, POST /audio/transcriptions.
func (c *Client) Transcribe(ctx context.Context, s Sound, partial func(text string)) (string, error) {
	if partial == nil {
		partial = func(string) {}
	}
	stream := !c.wholeTexts.Load()
	text, err := c.transcribe(ctx, s, stream, partial)
	var e *Error
	if err == nil || !stream || !errors.As(err, &e) || ctx.Err() != nil || hopeless[e.Code] {
		return text, err
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
	default:
		return text, err
	}
	text, again := c.transcribe(ctx, s, false, partial)
	if again != nil {
		return "", err
	}
	c.wholeTexts.Store(true)
	return text, nil
}

func (c *Client) transcribe(ctx context.Context, s Sound, stream bool, partial func(string)) (string, error) {
	body, kind, err := s.form(c.config.Model, stream)
	if err != nil {
		return "", err
	}
	accept := "application/json"
	if stream {
		accept = "text/event-stream, application/json"
	}
	resp, w, err := c.post(ctx, "/audio/transcriptions", kind, accept, body)
	if err != nil {
		return "", err
	}
	defer w.stop()
	defer func() { _ = resp.Body.Close() }()
	var text string
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		text, err = readTexts(resp.Body, w, partial)
	} else {
		text, err = readText(resp.Body, kind)
	}
	if err != nil {
		return "", c.failure(w.ctx, err, w.note)
	}
	return strings.TrimSpace(text), nil
}

// form is the request's body.
func (s Sound) form(model string, stream bool) ([]byte, string, error) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	fields := [][2]string{{"model", model}, {"response_format", "json"}, {"language", s.Language}, {"prompt", s.Prompt}}
	if stream {
		fields = append(fields, [2]string{"stream", "true"})
	}
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		if err := form.WriteField(f[0], f[1]); err != nil {
			return nil, "", err
		}
	}
	file, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="speech.wav"`}, "Content-Type": {"audio/wav"},
	})
	if err != nil {
		return nil, "", err
	}
	if _, err := file.Write(s.wav()); err != nil {
		return nil, "", err
	}
	err = form.Close()
	return b.Bytes(), form.FormDataContentType(), err
}

// wav is the sound as a WAV file, one channel of 16 bit PCM.
func (s Sound) wav() []byte {
	size := 2 * len(s.PCM)
	h := make([]byte, 0, 44+size)
	h = append(h, "RIFF"...)
	h = binary.LittleEndian.AppendUint32(h, uint32(36+size))
	h = append(h, "WAVEfmt "...)
	h = binary.LittleEndian.AppendUint32(h, 16)
	h = binary.LittleEndian.AppendUint16(h, 1) // PCM
	h = binary.LittleEndian.AppendUint16(h, 1) // one channel
	h = binary.LittleEndian.AppendUint32(h, uint32(s.Rate))
	h = binary.LittleEndian.AppendUint32(h, uint32(2*s.Rate))
	h = binary.LittleEndian.AppendUint16(h, 2)
	h = binary.LittleEndian.AppendUint16(h, 16)
	h = append(h, "data"...)
	h = binary.LittleEndian.AppendUint32(h, uint32(size))
	for _, v := range s.PCM {
		h = binary.LittleEndian.AppendUint16(h, uint16(v))
	}
	return h
}

// readText reads an answer that comes whole: as JSON, or from some servers as the bare text.
func readText(r io.Reader, kind string) (string, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	var answer struct {
		Text  *string         `json:"text"`
		Error json.RawMessage `json:"error"`
	}
	switch err := json.Unmarshal(body, &answer); {
	case err == nil && answer.Text != nil:
		return *answer.Text, nil
	case err == nil && len(answer.Error) > 0:
		return "", spokenError(answer.Error)
	case kind == "text/plain" && !bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")):
		return string(body), nil
	}
	return "", errNoText
}

var errNoText = &Error{Kind: ErrMalformed, Cause: errors.New("the answer holds no text")}

// spokenError is an error in the body of an answer that looked like a success.
func spokenError(raw json.RawMessage) error {
	api := new(goopenai.APIError)
	if json.Unmarshal(raw, api) != nil {
		api.Message = string(raw)
	}
	return api
}

// textEvent is what servers stream: OpenAI sends deltas and the whole text at the end, vLLM chunks as in a chat, others
// one segment after the other.
type textEvent struct {
	Type    string          `json:"type"`
	Delta   string          `json:"delta"`
	Text    string          `json:"text"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
}

// readTexts reads an answer that is streamed. A stream that breaks off before its end is an error: half of what somebody
// said can be the opposite of it.
func readTexts(r io.Reader, w *watch, partial func(string)) (string, error) {
	var text string
	ended, segments := false, false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		w.touch()
		value, isData := bytes.CutPrefix(bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff"))), []byte("data:"))
		value = bytes.TrimSpace(value)
		if !isData || len(value) == 0 {
			continue
		}
		if string(value) == "[DONE]" {
			ended = true
			continue
		}
		var e textEvent
		if err := json.Unmarshal(value, &e); err != nil {
			return "", err
		}
		switch {
		case len(e.Error) > 0 && string(e.Error) != "null":
			return "", spokenError(e.Error)
		case strings.HasSuffix(e.Type, ".done"):
			return e.Text, nil
		case e.Type != "":
			text += e.Delta
		case len(e.Choices) > 0:
			text += e.Choices[0].Delta.Content
			ended = ended || e.Choices[0].FinishReason != ""
		case e.Text != "":
			segments = true
			text = strings.TrimSpace(text + " " + strings.TrimSpace(e.Text))
		}
		partial(strings.TrimSpace(text))
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	if !ended && !segments {
		return "", io.ErrUnexpectedEOF
	}
	return text, nil
}
