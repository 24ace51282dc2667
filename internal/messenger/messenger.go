// Package messenger sends text messages: over the HTTP interface of a provider, or into a file on the sandbox.
package messenger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// Message is a text message.
type Message struct {
	// ID is the same when a message is sent again.
	ID string `json:"id"`
	// From and To are E.164.
	From string `json:"from"`
	To   string `json:"to"`
	Text string `json:"text"`
}

// HTTP sends by one POST to a provider; any 2xx answer means that it has taken the message.
type HTTP struct {
	// URL of the provider. User and password in it become basic authentication.
	URL string
	// Form sends application/x-www-form-urlencoded instead of JSON.
	Form bool
	// Token is sent as Authorization: Bearer, when there is one.
	Token string
	// Names are what the provider calls from, to and text. Default to from, to and text.
	FromName, ToName, TextName string
	// Client defaults to one with a timeout of 15 seconds.
	Client *http.Client
}

// Send gives the message to the provider.
func (h HTTP) Send(ctx context.Context, m Message) error {
	fields := map[string]string{
		or(h.FromName, "from"): m.From, or(h.ToName, "to"): m.To, or(h.TextName, "text"): m.Text,
	}
	body, kind := []byte(nil), "application/json"
	if h.Form {
		form := url.Values{}
		for k, v := range fields {
			form.Set(k, v)
		}
		body, kind = []byte(form.Encode()), "application/x-www-form-urlencoded"
	} else {
		text, err := json.Marshal(fields)
		if err != nil {
			return fmt.Errorf("write the message: %w", err)
		}
		body = text
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("address of the provider of messages: %w", err)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Idempotency-Key", m.ID)
	if h.Token != "" {
		req.Header.Set("Authorization", "Bearer "+h.Token)
	}
	client := h.Client
	if client == nil {
		client = &http.Client{Timeout: 15 * time.Second}
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("send a message: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("send a message: the provider answered %s", resp.Status)
	}
	return nil
}

func or(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}

// Sandbox sends nothing: it keeps what would have been sent, one JSON object on a line of the file.
type Sandbox struct {
	Path string
	mu   sync.Mutex
}

// Send appends to the file.
func (s *Sandbox) Send(_ context.Context, m Message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := os.OpenFile(s.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the message: %w", err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		f.Close()
		return fmt.Errorf("keep the message: %w", err)
	}
	return f.Close()
}
