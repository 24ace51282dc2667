package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

type freshKey struct{}

// Fresh returns a context whose requests go over a connection of their own: for the attempt after one that failed, since
// the connection may be what is broken. With Config.Transport it is that transport's business.
func Fresh(ctx context.Context) context.Context { return context.WithValue(ctx, freshKey{}, true) }

// Connect opens a connection to the server, so that the first request finds it warm. Whatever the server answers is
// fine; the error is the network's.
func (c *Client) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.IdleTimeout)
	defer cancel()
	req, err := c.request(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return err
	}
	resp, err := c.do.http.Do(req)
	if err != nil {
		return cause(err)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 256<<10) // only a connection that was read to its end is used again
	return resp.Body.Close()
}

func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(c.config.URL, "/")+path, bytes.NewReader(body))
	if err == nil && c.config.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.config.Key)
	}
	return req, err
}

// post sends a request and returns the answer, or an *Error. idle, which is stopped by the caller, ends it when nothing
// comes for Config.IdleTimeout.
func (c *Client) post(ctx context.Context, path, kind, accept string, body []byte) (resp *http.Response, w *watch, err error) {
	ctx, w = c.watch(ctx)
	noted, note := noting(ctx)
	w.note = note
	defer func() {
		if err != nil {
			err = c.failure(ctx, err, note)
			w.stop()
		}
	}()
	req, err := c.request(noted, http.MethodPost, path, body)
	if err != nil {
		return nil, w, err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", accept)
	if resp, err = c.do.Do(req); err != nil {
		return nil, w, err
	}
	if resp.StatusCode >= 400 {
		err := refusal(resp)
		return nil, w, err
	}
	w.touch()
	return resp, w, nil
}

// refusal reads what a server says against a request.
func refusal(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body) // what came of it
	var said struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && len(said.Error) > 0 {
		api := &goopenai.APIError{HTTPStatusCode: resp.StatusCode}
		if json.Unmarshal(said.Error, api) == nil {
			return api
		}
	}
	return &goopenai.RequestError{HTTPStatusCode: resp.StatusCode, Body: body, Err: errors.New(resp.Status)}
}

// watch ends a request in which nothing moves any more.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	after  time.Duration
	note   *reply
}

func (c *Client) watch(ctx context.Context) (context.Context, *watch) {
	w := &watch{after: c.config.IdleTimeout}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(w.after, func() { w.cancel(errIdle) })
	return w.ctx, w
}

// touch tells that something came.
func (w *watch) touch() { w.timer.Reset(w.after) }

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}
