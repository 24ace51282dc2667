package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// RealtimeConfig is one server of the Realtime API and one of its models.
type RealtimeConfig struct {
	// URL is the base that ends in /v1: http, https, ws or wss.
	URL string
	// Key is the bearer token. Empty for servers that want none.
	Key string
	// Model is the server's name for it.
	Model string
	// OpenTimeout bounds the handshake. Defaults to 10 s.
	OpenTimeout time.Duration
	// KeepAlive is how often a ping is sent; one that is not answered in that time ends the connection. Defaults to 15 s.
	KeepAlive time.Duration
	// WriteTimeout bounds one write: a server that does not read is dead. Defaults to 10 s.
	WriteTimeout time.Duration
	// Transport makes the handshake. Defaults to one like http.DefaultTransport with its own connections.
	Transport http.RoundTripper
}

// String keeps the key out of every %v.
func (c RealtimeConfig) String() string { return c.Model + " at " + c.URL }

// GoString keeps the key out of every %#v.
func (c RealtimeConfig) GoString() string { return c.String() }

// Realtime opens connections to one realtime model. It is safe for concurrent use.
type Realtime struct {
	config RealtimeConfig
	url    string
	http   *http.Client
}

// NewRealtime returns a client without contacting the server.
func NewRealtime(c RealtimeConfig) (*Realtime, error) {
	u, err := url.Parse(c.URL)
	known := map[string]string{"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
	if err != nil || u.Host == "" || known[u.Scheme] == "" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the realtime server's URL must be like wss://host/v1, without user, password or query")
	}
	if c.Model == "" {
		return nil, fmt.Errorf("no realtime model is set for %s", c.URL)
	}
	if strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("the key for %s holds a space or another character that keys do not have", c.URL)
	}
	u.Scheme = known[u.Scheme]
	u.Path = strings.TrimRight(u.Path, "/") + "/realtime"
	u.RawQuery = url.Values{"model": {c.Model}}.Encode()
	c.OpenTimeout = or(c.OpenTimeout, 10*time.Second)
	c.KeepAlive = or(c.KeepAlive, 15*time.Second)
	c.WriteTimeout = or(c.WriteTimeout, 10*time.Second)
	if c.Transport == nil {
		c.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return &Realtime{config: c, url: u.String(), http: &http.Client{Transport: c.Transport, CheckRedirect: stay}}, nil
}

// Model is the name of the model.
func (r *Realtime) Model() string { return r.config.Model }

// Bounds of a connection.
const (
	realtimeMessage = 4 << 20 // bytes of one event
	realtimeEvents  = 64      // received and not taken yet; then the server has to wait
	realtimeSending = 512     // sent and not written yet
	realtimeClosing = 500 * time.Millisecond
)

// ErrBehind tells that a server does not read what it is sent.
var ErrBehind = errors.New("the realtime server is behind")

// RealtimeConn is one connection. Send and Close may be called by any goroutine; Events must be received until it is
// closed, or until Close.
type RealtimeConn struct {
	config RealtimeConfig
	ws     *websocket.Conn
	events chan RealtimeEvent
	out    chan []byte
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	held   atomic.Bool // the reader waits for its receiver: pongs are not read either
}

// Connect opens a connection. ctx bounds the opening only.
func (r *Realtime) Connect(ctx context.Context) (*RealtimeConn, error) {
	opening, stop := context.WithTimeout(ctx, r.config.OpenTimeout)
	defer stop()
	header := http.Header{}
	if r.config.Key != "" {
		header.Set("Authorization", "Bearer "+r.config.Key)
	}
	ws, answer, err := websocket.Dial(opening, r.url, &websocket.DialOptions{HTTPClient: r.http, HTTPHeader: header})
	if err != nil {
		return nil, refusedHandshake(ctx, answer, err)
	}
	ws.SetReadLimit(realtimeMessage)
	c := &RealtimeConn{config: r.config, ws: ws, events: make(chan RealtimeEvent, realtimeEvents), out: make(chan []byte, realtimeSending)}
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.work.Go(c.read)
	c.work.Go(c.write)
	c.work.Go(c.keepAlive)
	return c, nil
}

// refusedHandshake says why there is no connection.
func refusedHandshake(ctx context.Context, answer *http.Response, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("connecting to the realtime server: %w", ctx.Err())
	}
	e := &Error{Kind: ErrUnavailable, Cause: errors.New("no realtime connection")}
	if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		e.Status, e.RetryAfter = answer.StatusCode, retryAfter(answer.Header)
		if !passing(e.Status) {
			e.Kind = ErrRefused
		}
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Cause = errIdle
	} else if sent := new(url.Error); errors.As(err, &sent) {
		e.Cause = sent.Err // without the address
	}
	return e
}

// Send queues an event, which is anything that becomes a JSON object. It never blocks: ErrBehind tells that the queue is
// full, and any other error that the connection is over.
func (c *RealtimeConn) Send(event any) error {
	text, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("write a realtime event: %w", err)
	}
	if c.ctx.Err() != nil {
		return c.Err()
	}
	select {
	case c.out <- text:
		return nil
	default:
		return ErrBehind
	}
}

// Events are what the server says, in order and without what is not known here. It is closed at the end.
func (c *RealtimeConn) Events() <-chan RealtimeEvent { return c.events }

// Err is why the connection is over; nil while it lives.
func (c *RealtimeConn) Err() error {
	if c.ctx.Err() == nil {
		return nil
	}
	return &Error{Kind: ErrUnavailable, Cause: context.Cause(c.ctx)}
}

var errClosed = errors.New("the connection was closed")

// Close says goodbye, for half a second at most, and waits for the connection's goroutines.
func (c *RealtimeConn) Close() error {
	c.cancel(errClosed)
	hard := time.AfterFunc(realtimeClosing, func() { _ = c.ws.CloseNow() })
	defer hard.Stop()
	_ = c.ws.Close(websocket.StatusNormalClosure, "") // how the other side takes a goodbye is its own business
	_ = c.ws.CloseNow()
	c.work.Wait()
	return nil
}

func (c *RealtimeConn) read() {
	defer close(c.events)
	for {
		kind, text, err := c.ws.Read(context.WithoutCancel(c.ctx))
		if err != nil {
			c.over(err)
			return
		}
		e, known := decodeRealtime(text)
		if kind != websocket.MessageText || !known {
			continue
		}
		c.held.Store(true)
		select {
		case c.events <- e:
		case <-c.ctx.Done():
			return
		}
		c.held.Store(false)
	}
}

// over notes the first reason. What a server writes into its goodbye can quote anything and is left out.
func (c *RealtimeConn) over(err error) {
	if status := websocket.CloseStatus(err); status >= 0 {
		err = fmt.Errorf("the server closed the connection (%d)", status)
	} else if sent := new(url.Error); errors.As(err, &sent) {
		err = sent.Err
	}
	c.cancel(err)
}

func (c *RealtimeConn) write() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case text := <-c.out:
			ctx, stop := context.WithTimeout(c.ctx, c.config.WriteTimeout)
			err := c.ws.Write(ctx, websocket.MessageText, text)
			stop()
			if err != nil {
				c.over(err)
				_ = c.ws.CloseNow()
				return
			}
		}
	}
}

func (c *RealtimeConn) keepAlive() {
	ticker := time.NewTicker(c.config.KeepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-ticker.C:
		}
		ctx, stop := context.WithTimeout(c.ctx, c.config.KeepAlive)
		err := c.ws.Ping(ctx)
		stop()
		if err != nil && c.ctx.Err() == nil && !c.held.Load() {
			c.over(errIdle)
			_ = c.ws.CloseNow()
			return
		}
	}
}
