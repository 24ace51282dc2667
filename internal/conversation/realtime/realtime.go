// Package realtime is speech by one model that hears and speaks: the OpenAI Realtime protocol over WebSocket, with the
// line's own µ-law both ways, so that nothing is resampled.
//
// # Who takes turns
//
// The conversation does. The server's turn detection is off: an utterance's sound goes up while it is spoken, Commit makes
// it an item of the server's conversation, Reply asks for a response. When a turn is interrupted the response is cancelled
// and its item is cut at the millisecond that was played, so that the model remembers what was heard and no more.
//
// # Faults
//
// A connection that breaks while nothing is being said is replaced at once, with the conversation's text given to the new
// one; while a turn is being made the turn fails, and the conversation asks again (Reply.Fresh), which also means a new
// connection. Servers differ from the original: unknown events, older names, missing ids, missing confirmations and
// missing transcripts are all lived with.
//
// # The sandbox
//
// A line with captions has nothing to recognise: there the other side's words go to the model as text.
package realtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/openai"
)

// Config of Speech. URL and Model are needed.
type Config struct {
	// URL is the base that ends in /v1, Key the bearer token, Model the server's name for the model.
	URL, Key, Model string
	// Transcriber is the server's model for the transcript of the other side. Defaults to gpt-4o-mini-transcribe.
	Transcriber string
	// Voice is used for agents without a voice_id. Defaults to the server's own.
	Voice string
	// KeepAlive is how often a ping is sent. Defaults to 15 s.
	KeepAlive time.Duration
	// Transport makes the handshakes. Defaults to one like http.DefaultTransport.
	Transport http.RoundTripper
	// Log hears of what a server refuses. Defaults to none.
	Log *slog.Logger
}

// Speech is a realtime model. It is safe for concurrent use.
type Speech struct {
	c      Config
	client *openai.Realtime

	mu   sync.Mutex
	warm map[string]*warmed // by call
	work sync.WaitGroup
}

var _ conversation.Speech = (*Speech)(nil)

// New makes one without contacting the server.
func New(c Config) (*Speech, error) {
	client, err := openai.NewRealtime(openai.RealtimeConfig{
		URL: c.URL, Key: c.Key, Model: c.Model, KeepAlive: c.KeepAlive, Transport: c.Transport,
	})
	if err != nil {
		return nil, err
	}
	c.Transcriber = cmp.Or(c.Transcriber, "gpt-4o-mini-transcribe")
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Speech{c: c, client: client, warm: map[string]*warmed{}}, nil
}

// How long things may take.
const (
	// confirmTime is how long a server may take to confirm its settings; one that never does is used all the same.
	confirmTime = 3 * time.Second
	// warmTime is how long a connection waits for its call to be answered.
	warmTime = 90 * time.Second
	// maxWarm bounds the connections that wait.
	maxWarm = 64
)

// warmed is a connection made while the call rings.
type warmed struct {
	ready chan struct{} // closed when conn or err is there
	conn  *openai.RealtimeConn
	err   error
	drop  *time.Timer
}

// Warm connects while the call rings.
func (s *Speech) Warm(ctx context.Context, script conversation.Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if script.CallID == "" || s.warm[script.CallID] != nil || len(s.warm) >= maxWarm {
		return
	}
	w := &warmed{ready: make(chan struct{})}
	s.warm[script.CallID] = w
	w.drop = time.AfterFunc(warmTime, func() { s.discard(script.CallID, w) })
	s.work.Go(func() {
		defer close(w.ready)
		w.conn, w.err = s.connect(context.WithoutCancel(ctx), script)
	})
}

// discard closes a connection whose call was not answered.
func (s *Speech) discard(call string, w *warmed) {
	s.mu.Lock()
	waiting := s.warm[call] == w
	if waiting {
		delete(s.warm, call)
		s.work.Add(1)
	}
	s.mu.Unlock()
	if !waiting {
		return
	}
	defer s.work.Done()
	<-w.ready
	if w.conn != nil {
		_ = w.conn.Close()
	}
}

// Close closes the connections that wait for calls; those of calls end with them.
func (s *Speech) Close() {
	s.mu.Lock()
	waiting := make(map[string]*warmed, len(s.warm))
	for call, w := range s.warm {
		waiting[call] = w
	}
	s.mu.Unlock()
	for call, w := range waiting {
		w.drop.Stop()
		s.discard(call, w)
	}
	s.work.Wait()
}

// Open is that of conversation.Speech.
func (s *Speech) Open(ctx context.Context, script conversation.Script) (conversation.Dialogue, error) {
	conn, err := s.warmConn(ctx, script)
	if conn == nil && err == nil {
		conn, err = s.connect(ctx, script)
	}
	if err != nil {
		return nil, err
	}
	return open(ctx, s, script, conn), nil
}

// warmConn takes the connection made while ringing; nil without one that lives.
func (s *Speech) warmConn(ctx context.Context, script conversation.Script) (*openai.RealtimeConn, error) {
	s.mu.Lock()
	w := s.warm[script.CallID]
	delete(s.warm, script.CallID)
	s.mu.Unlock()
	if w == nil {
		return nil, nil
	}
	w.drop.Stop()
	select {
	case <-w.ready:
	case <-ctx.Done():
		s.work.Go(func() {
			if <-w.ready; w.conn != nil {
				_ = w.conn.Close()
			}
		})
		return nil, ctx.Err()
	}
	if w.conn != nil && w.conn.Err() != nil {
		_ = w.conn.Close()
		return nil, nil
	}
	return w.conn, nil // an error then is tried again
}

// connect opens a connection and sets it up. Settings that a server refuses are left out: a voice of another provider
// must not cost the call.
func (s *Speech) connect(ctx context.Context, script conversation.Script) (*openai.RealtimeConn, error) {
	conn, err := s.client.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, plain := range []bool{false, true} {
		if err = conn.Send(s.session(script, plain)); err != nil {
			break
		}
		if err = confirmed(ctx, conn); err == nil {
			return conn, nil
		}
		if refused := (*openai.Error)(nil); !errors.As(err, &refused) || !errors.Is(refused.Kind, openai.ErrRefused) {
			break
		}
		s.c.Log.Warn("the realtime server refused the settings of a call", "call", script.CallID, "plain", plain, "error", err)
	}
	_ = conn.Close()
	return nil, fmt.Errorf("set up the realtime connection: %w", err)
}

// confirmed waits until the server has taken the settings.
func confirmed(ctx context.Context, conn *openai.RealtimeConn) error {
	late := time.NewTimer(confirmTime)
	defer late.Stop()
	for {
		select {
		case e, ok := <-conn.Events():
			switch {
			case !ok:
				return conn.Err()
			case e.Type == openai.RealtimeSessionUpdated:
				return nil
			case e.Type == openai.RealtimeFailed:
				return e.Error.AsError()
			}
		case <-late.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
