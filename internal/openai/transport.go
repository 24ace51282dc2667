package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// reply is what go-openai's errors leave out of an answer. It travels in the request's context.
type reply struct {
	status     int
	retryAfter time.Duration
	done       bool // a stream said [DONE]
}

type replyKey struct{}

// noting returns a context in which doer notes the answer.
func noting(ctx context.Context) (context.Context, *reply) {
	r := new(reply)
	return context.WithValue(ctx, replyKey{}, r), r
}

// errTooLarge ends an answer that is over the limit.
var errTooLarge = errors.New("the answer is too large")

// maxErrorBody is what is read of an answer that is an error.
const maxErrorBody = 64 << 10

// doer sends go-openai's requests: it bounds the answers, notes what the library drops, and brings the event streams of
// odd servers into the one form the library reads.
type doer struct {
	http, fresh *http.Client
	max         int64
}

// stay follows no redirect: it would turn the POST into a GET, and the key is for this server.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Do implements goopenai.HTTPDoer.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	client := d.http
	if req.Context().Value(freshKey{}) != nil {
		client = d.fresh
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	note, ok := req.Context().Value(replyKey{}).(*reply)
	if !ok {
		note = new(reply)
	}
	note.status, note.retryAfter = resp.StatusCode, retryAfter(resp.Header)
	body := resp.Body
	switch {
	case resp.StatusCode < 200 || resp.StatusCode >= 300 && resp.StatusCode < 400:
		body.Close()
		return nil, errors.New("the server answered " + resp.Status)
	case resp.StatusCode >= 400:
		resp.Body = readCloser{io.LimitReader(body, maxErrorBody), body}
		return resp, nil
	}
	limited := &capped{r: body, left: d.max}
	resp.Body = readCloser{limited, body}
	if req.Header.Get("Accept") != "text/event-stream" {
		return resp, nil
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/json" {
		resp.Body = readCloser{wholeAsEvent(limited), body}
	} else {
		resp.Body = newEvents(limited, body, note)
	}
	return resp, nil
}

// wholeAsEvent turns the answer of a server that ignores "stream" into a stream of one event.
func wholeAsEvent(r io.Reader) io.Reader {
	body, err := io.ReadAll(r)
	var line bytes.Buffer
	line.WriteString("data: ")
	if err == nil {
		err = json.Compact(&line, body)
	}
	if err != nil {
		return failing{err}
	}
	line.WriteString("\n\n")
	return &line
}

// retryAfter reads Retry-After in seconds or as a date (RFC 9110 §10.2.3), and OpenAI's retry-after-ms.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseInt(h.Get("Retry-After-Ms"), 10, 32); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 24*3600) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

type readCloser struct {
	io.Reader
	io.Closer
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// capped fails behind the limit, unlike io.LimitReader, which would make a cut answer look whole.
type capped struct {
	r    io.Reader
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errTooLarge
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}
