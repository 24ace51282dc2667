// Package openai talks to servers that speak the OpenAI API: OpenAI itself, and the many that imitate it more or less.
//
// [Client.Complete] asks for one JSON value of a given schema and returns nothing that does not satisfy it; servers
// without schema support are asked in words. [Client.Stream] gives a chat's text as it is written, [Client.Transcribe]
// the text of a sound, [Client.Speak] the sound of a text. Texts of strangers (transcripts, pages) go into [Prompt.Data]
// and stay data.
//
// The addresses are the operator's own settings and trusted: they may be private, and a proxy of the environment is
// used. Addresses that users choose belong to package egress.
//
// Keys are never logged. Nor is anything a server says: its words can quote the prompt, and so a call; they stand in
// [Error.Detail] and not in the error's text.
package openai

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	goopenai "github.com/sashabaranov/go-openai"
)

// Config is one server and one of its models.
type Config struct {
	// URL is the base that ends in /v1, http or https.
	URL string
	// Key is the bearer token. Empty for servers that want none.
	Key string
	// Model is the server's name for it.
	Model string
	// RequestTimeout bounds one request of Complete. Defaults to 45 s.
	RequestTimeout time.Duration
	// Timeout bounds one Complete with its retries and its repair. Defaults to 2 min.
	Timeout time.Duration
	// IdleTimeout bounds the wait for a stream's beginning and for each further piece. Defaults to 15 s.
	IdleTimeout time.Duration
	// Attempts bounds the requests for one answer when the server is busy or can not be reached. Defaults to 4; Stream,
	// where somebody is waiting on the line, makes at most 2.
	Attempts int
	// Backoff is the first pause between attempts; it doubles, with jitter. Defaults to 500 ms.
	Backoff time.Duration
	// MaxRetryAfter is the longest pause a server may ask for that is waited for here; at longer ones the call ends and
	// Error.RetryAfter tells the caller. Defaults to 20 s.
	MaxRetryAfter time.Duration
	// MaxAnswer bounds an answer in bytes. Defaults to 4 MiB.
	MaxAnswer int64
	// Transport sends the requests. Defaults to one like http.DefaultTransport with its own connections.
	Transport http.RoundTripper
}

// String keeps the key out of every %v.
func (c Config) String() string { return c.Model + " at " + c.URL }

// GoString keeps the key out of every %#v.
func (c Config) GoString() string { return c.String() }

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value {
	return slog.GroupValue(slog.String("url", c.URL), slog.String("model", c.Model))
}

// Client asks one model. It is safe for concurrent use.
type Client struct {
	config Config
	server *goopenai.Client
	do     doer
	own    *http.Transport
	single *http.Transport // for requests that want a connection of their own
	// format is the strictest format that the server is known to take, learned from its refusals.
	format atomic.Int32
	// wholeTexts is set when the server refuses to stream transcriptions, speaking is how it takes requests for speech.
	wholeTexts atomic.Bool
	speaking   atomic.Int32
}

// New returns a client without contacting the server. Close ends its idle connections.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("the model server's URL must be like https://host/v1, without user, password or query")
	}
	if c.Model == "" {
		return nil, fmt.Errorf("no model is set for %s", c.URL)
	}
	if strings.ContainsFunc(c.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("the key for %s holds a space or another character that keys do not have", c.URL)
	}
	c.RequestTimeout = or(c.RequestTimeout, 45*time.Second)
	c.Timeout = or(c.Timeout, 2*time.Minute)
	c.IdleTimeout = or(c.IdleTimeout, 15*time.Second)
	c.Attempts = or(c.Attempts, 4)
	c.Backoff = or(c.Backoff, 500*time.Millisecond)
	c.MaxRetryAfter = or(c.MaxRetryAfter, 20*time.Second)
	c.MaxAnswer = or(c.MaxAnswer, 4<<20)
	client := &Client{config: c}
	if c.Transport == nil {
		client.own = http.DefaultTransport.(*http.Transport).Clone()
		client.own.MaxIdleConnsPerHost = 64 // calls at once talk to the same server
		c.Transport = client.own
	}
	single := c.Transport
	if client.own != nil {
		client.single = client.own.Clone()
		client.single.DisableKeepAlives = true
		single = client.single
	}
	client.config = c
	client.do = doer{
		http: &http.Client{Transport: c.Transport, CheckRedirect: stay}, fresh: &http.Client{Transport: single, CheckRedirect: stay},
		max: c.MaxAnswer,
	}
	settings := goopenai.DefaultConfig(c.Key)
	settings.BaseURL = strings.TrimRight(c.URL, "/")
	settings.HTTPClient = client.do
	client.server = goopenai.NewClientWithConfig(settings)
	return client, nil
}

// Close ends the idle connections.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
		c.single.CloseIdleConnections()
	}
}

// String names the server and keeps the key out of logs.
func (c *Client) String() string { return c.config.String() }

// LogValue implements [slog.LogValuer].
func (c *Client) LogValue() slog.Value { return c.config.LogValue() }

// Model is the name of the model, for records of who concluded something.
func (c *Client) Model() string { return c.config.Model }

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
