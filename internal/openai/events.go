package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// events rewrites an event stream line by line into what go-openai can read: only data lines, each ended by \n and an
// empty line. Comments and other fields would use up its limit of empty messages and spoil its error texts, a last line
// without an end would be lost, and after an error it waits for one line more.
type events struct {
	lines *bufio.Reader
	body  io.Closer
	note  *reply
	ready []byte
	err   error
}

func newEvents(r io.Reader, body io.Closer, note *reply) *events {
	return &events{lines: bufio.NewReader(r), body: body, note: note}
}

// Close reads the little that follows [DONE] first: only a connection whose answer was read to its end is used again,
// and a new one costs the next turn of a conversation its handshake.
func (e *events) Close() error {
	if e.note.done {
		_, _ = io.CopyN(io.Discard, e.lines, 512)
	}
	return e.body.Close()
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.ready) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		var line []byte
		line, e.err = e.lines.ReadBytes('\n')
		if e.err != nil && !errors.Is(e.err, io.EOF) {
			return 0, e.err // half a line is none
		}
		e.take(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))))
	}
	n := copy(p, e.ready)
	e.ready = e.ready[n:]
	return n, nil
}

func (e *events) take(line []byte) {
	value, isData := bytes.CutPrefix(line, []byte("data:"))
	value = bytes.TrimSpace(value)
	if !isData || len(value) == 0 {
		return
	}
	if string(value) == "[DONE]" {
		e.note.done = true
	}
	e.ready = append(append([]byte("data: "), value...), "\n\n"...)
}
