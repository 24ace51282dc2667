package main_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/rest/resttest"
)

// described is a client that holds every JSON answer against /openapi.json: a status, code, member or header that is not
// described fails the test that asked. So the description is proven by all that tests send, whatever they look for.
type described struct {
	t        *testing.T
	through  http.RoundTripper
	document func() (*resttest.Document, error)
}

// newDescribed makes the client; url is where the program will answer.
func newDescribed(t *testing.T, url func() string) *http.Client {
	d := described{t: t, through: &http.Transport{}}
	d.document = sync.OnceValues(func() (*resttest.Document, error) {
		req, err := http.NewRequest(http.MethodGet, url()+"/openapi.json", nil)
		if err != nil {
			return nil, err
		}
		resp, err := d.through.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		return resttest.Parse(text)
	})
	return &http.Client{Transport: d}
}

func (d described) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.through.RoundTrip(r)
	if err != nil || r.Method == http.MethodHead || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || r.URL.Path == "/openapi.json" {
		return resp, err
	}
	document, err := d.document()
	require.NoError(d.t, err)
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err := document.Answer(r.Method, r.URL.EscapedPath(), resp.StatusCode, resp.Header, body); err != nil {
		d.t.Errorf("not as /openapi.json says: %v", err)
	}
	return resp, nil
}

// CloseIdleConnections lets the client close what the transport below keeps.
func (d described) CloseIdleConnections() { d.through.(*http.Transport).CloseIdleConnections() }
