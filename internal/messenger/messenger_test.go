package messenger_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/messenger"
)

var hello = messenger.Message{ID: "e1-2", From: "+15005550000", To: "+15551234567", Text: "Grüezi & \"hello\"\n=1"}

// provider keeps what is posted and answers with a status.
func provider(t *testing.T, status int) (string, func() (http.Header, string)) {
	var header http.Header
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err == nil && r.Method == http.MethodPost {
			header, body = r.Header, string(text)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() (http.Header, string) { return header, body }
}

func TestAProviderGetsJSON(t *testing.T) {
	address, got := provider(t, 202)
	require.NoError(t, messenger.HTTP{URL: address, Token: "secret"}.Send(t.Context(), hello))
	header, body := got()
	require.Equal(t, "application/json", header.Get("Content-Type"))
	require.Equal(t, "Bearer secret", header.Get("Authorization"))
	require.Equal(t, "e1-2", header.Get("Idempotency-Key"), "the provider may tell a repetition by it")
	var sent map[string]string
	require.NoError(t, json.Unmarshal([]byte(body), &sent))
	require.Equal(t, map[string]string{"from": hello.From, "to": hello.To, "text": hello.Text}, sent)
}

func TestAProviderGetsAFormWithItsOwnNames(t *testing.T) {
	address, got := provider(t, 200)
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.User = url.UserPassword("AC1", "pass")
	h := messenger.HTTP{URL: u.String(), Form: true, FromName: "From", ToName: "To", TextName: "Body"}
	require.NoError(t, h.Send(t.Context(), hello))
	header, body := got()
	require.Equal(t, "application/x-www-form-urlencoded", header.Get("Content-Type"))
	require.True(t, strings.HasPrefix(header.Get("Authorization"), "Basic "))
	form, err := url.ParseQuery(body)
	require.NoError(t, err)
	require.Equal(t, url.Values{"From": {hello.From}, "To": {hello.To}, "Body": {hello.Text}}, form)
}

func TestWhatAProviderDoesNotTakeIsAnError(t *testing.T) {
	for _, status := range []int{300, 400, 401, 429, 500} {
		address, _ := provider(t, status)
		err := messenger.HTTP{URL: address, Token: "secret"}.Send(t.Context(), hello)
		require.Error(t, err, "%d", status)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, err.Error(), hello.Text)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	require.Error(t, messenger.HTTP{URL: gone.URL}.Send(t.Context(), hello))
	require.Error(t, messenger.HTTP{URL: ":"}.Send(t.Context(), hello))
	late, cancel := context.WithCancel(t.Context())
	cancel()
	address, _ := provider(t, 200)
	require.ErrorIs(t, messenger.HTTP{URL: address}.Send(late, hello), context.Canceled)
}

func TestTheSandboxKeepsOneLineForEachMessage(t *testing.T) {
	s := &messenger.Sandbox{Path: filepath.Join(t.TempDir(), "messages.log")}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _ = s.Send(t.Context(), hello) })
	}
	all.Wait()
	text, err := os.ReadFile(s.Path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 20)
	for _, line := range lines {
		var m messenger.Message
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		require.Equal(t, hello, m)
	}
	stat, err := os.Stat(s.Path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), stat.Mode().Perm())
	require.Error(t, (&messenger.Sandbox{Path: t.TempDir()}).Send(t.Context(), hello))
}
