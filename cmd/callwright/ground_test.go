package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	main "github.com/callwright/callwright/cmd/callwright"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// sending is a request of the tests below.
type sending struct {
	verb, path, token, body string
	headers                 map[string]string
}

// back is what came back.
type back struct {
	status int
	body   any
	text   string
	header http.Header
}

func (h *house) sends(t *testing.T, r sending) back {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.verb, h.url+r.path, strings.NewReader(r.body))
	require.NoError(t, err)
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for k, v := range r.headers {
		req.Header.Set(k, v)
	}
	resp, err := h.client.Do(req)
	require.NoError(t, err, "%s %s", r.verb, r.path)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := back{status: resp.StatusCode, text: string(text), header: resp.Header}
	if len(text) > 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		a.body = readJSON(text)
	}
	return a
}

// wants holds an answer against an HTTP status and an error_code.
func (a back) wants(t *testing.T, status int, code string, what ...any) map[string]any {
	t.Helper()
	require.Equal(t, status, a.status, "%v: %s", what, a.text)
	require.NoError(t, match("body", map[string]any{"status": status, "error_code": code, "message": "<any>"}, a.body), "%v", what)
	require.Equal(t, "2025-03-02", a.header.Get("Service-Version"), what)
	require.NotEmpty(t, a.header.Get("X-Request-Id"), what)
	return a.body.(map[string]any)
}

// filled is a binding's path with one text for every id.
func filled(b binding, id string) string {
	values := map[string]string{}
	for name := range placeholders(b.template) {
		values[name] = id
	}
	return b.path(values)
}

// reads says whether an operation looks at its body.
func (b binding) reads() bool { return b.body != "" }

// TestEveryOperationKeepsTheGroundRules: CONTRACT.md §1 for each operation that REST has, taken from rest.yaml.
func TestEveryOperationKeepsTheGroundRules(t *testing.T) {
	h := open(t, storetest.SQLite(t))
	w := h.found(t, "acme")
	token := w.founded.Token
	verbs := map[string][]string{}
	bindings := readBindings(t)
	for _, b := range bindings {
		verbs[b.template] = append(verbs[b.template], b.verb)
	}
	for _, b := range bindings {
		t.Run(b.verb+" "+b.template, func(t *testing.T) {
			public := authOf(b.method).GetPublic()
			path := filled(b, uuid.NewString())
			body := ""
			if b.reads() {
				body = "{}"
			}
			for _, bad := range []string{"", "nonsense", "a.b.c", "cw_live_" + strings.Repeat("x", 49)} {
				for _, sent := range []string{body, "{", strings.Repeat(" ", 9<<20)} {
					if public || sent != body && !b.reads() {
						continue
					}
					a := h.sends(t, sending{verb: b.verb, path: path, token: bad, body: sent})
					a.wants(t, http.StatusUnauthorized, "unauthorized", "credential", bad)
					require.Equal(t, "Bearer", a.header.Get("WWW-Authenticate"))
				}
			}
			a := h.sends(t, sending{verb: b.verb, path: path, token: token, body: body, headers: map[string]string{"Service-Version": "2020-01-01"}})
			details := a.wants(t, http.StatusBadRequest, "unsupported_version")["details"]
			require.Equal(t, map[string]any{"supported": []any{"2025-03-02"}}, details)

			a = h.sends(t, sending{verb: b.verb, path: path, token: token, body: body, headers: map[string]string{
				"Service-Version": "2025-03-02", "X-Request-Id": "my.id-1"}})
			require.Equal(t, "my.id-1", a.header.Get("X-Request-Id"))
			require.NotEqual(t, http.StatusUnauthorized, a.status)
			require.Less(t, a.status, 500, a.text)
			a = h.sends(t, sending{verb: b.verb, path: path, token: token, body: body, headers: map[string]string{"X-Request-Id": "a b"}})
			require.NotEqual(t, "a b", a.header.Get("X-Request-Id"), "not a sane one")

			if len(placeholders(b.template)) > 0 {
				for _, id := range []string{"x", "%00", "00000000000000000000000000000000", strings.Repeat("1", 300)} {
					bad := strings.ReplaceAll(filled(b, "@"), "@", id)
					h.sends(t, sending{verb: b.verb, path: bad, token: token, body: body}).wants(t, http.StatusBadRequest, "validation_failed", id)
				}
				if !b.reads() {
					a := h.sends(t, sending{verb: b.verb, path: path, token: token})
					require.Equal(t, http.StatusNotFound, a.status, a.text)
					require.NoError(t, match("body", map[string]any{"error_code": "<has _not_found>"}, a.body))
				}
			}
			if b.reads() {
				for _, sent := range []string{"{", "[]", `"x"`, "5", "nonsense", "{}{}", "{\"a\":\"\xff\"}"} {
					h.sends(t, sending{verb: b.verb, path: path, token: token, body: sent}).wants(t, http.StatusBadRequest, "validation_failed", sent)
				}
				h.sends(t, sending{verb: b.verb, path: path, token: token, body: strings.Repeat(" ", 9<<20)}).
					wants(t, http.StatusRequestEntityTooLarge, "body_too_large")
			}
			a = h.sends(t, sending{verb: http.MethodOptions, path: path})
			require.Equal(t, http.StatusNoContent, a.status)
			allow := strings.Split(a.header.Get("Allow"), ", ")
			require.Contains(t, allow, b.verb)
			require.Equal(t, slices.Contains(allow, http.MethodGet), slices.Contains(allow, http.MethodHead))
			for _, verb := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
				if slices.Contains(allow, verb) {
					continue
				}
				a := h.sends(t, sending{verb: verb, path: path, token: token})
				require.Equal(t, http.StatusMethodNotAllowed, a.status, verb)
				require.Equal(t, strings.Join(allow, ", "), a.header.Get("Allow"))
			}
			if b.verb == http.MethodGet {
				get, head := h.sends(t, sending{verb: "GET", path: path, token: token}), h.sends(t, sending{verb: "HEAD", path: path, token: token})
				require.Equal(t, get.status, head.status)
				require.Empty(t, head.text)
				require.Equal(t, get.header.Get("Content-Type"), head.header.Get("Content-Type"))
			}
			short := strings.TrimPrefix(path, "/v1")
			if slices.ContainsFunc(unprefixed, func(p string) bool { return short == p || strings.HasPrefix(short, p+"/") }) && !public {
				h.sends(t, sending{verb: b.verb, path: short, body: body}).wants(t, http.StatusUnauthorized, "unauthorized", short)
			}
		})
	}
}

// TestEveryOperationIsThrottled: spec: Limits, Global request throttle. One caller's requests count over all operations.
func TestEveryOperationIsThrottled(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		const limit = 5
		h := openParts(t, db, nil, func(_ *identity.Config, p *main.Parts) { p.RateLimit = limit })
		w := h.found(t, "acme")
		for i := range limit {
			a := h.sends(t, sending{verb: "GET", path: "/v1/usage", token: w.founded.Key.Secret})
			require.Equal(t, http.StatusOK, a.status)
			require.Equal(t, fmt.Sprint(limit-1-i), a.header.Get("RateLimit-Remaining"))
		}
		for _, b := range readBindings(t) {
			a := h.sends(t, sending{verb: b.verb, path: filled(b, uuid.NewString()), token: w.founded.Key.Secret, body: "{"})
			a.wants(t, http.StatusTooManyRequests, "rate_limited", b.verb, b.template)
			require.Regexp(t, "^([1-9]|[1-5][0-9]|60)$", a.header.Get("Retry-After"))
			require.Equal(t, a.header.Get("Retry-After"), a.header.Get("RateLimit-Reset"))
			require.Equal(t, "5", a.header.Get("RateLimit-Limit"))
			require.Equal(t, "0", a.header.Get("RateLimit-Remaining"))
		}
		a := h.sends(t, sending{verb: "GET", path: "/v1/nothing", token: w.founded.Key.Secret})
		a.wants(t, http.StatusTooManyRequests, "rate_limited")
		require.Equal(t, http.StatusOK, h.sends(t, sending{verb: "GET", path: "/healthz"}).status)
		a = h.sends(t, sending{verb: "GET", path: "/v1/usage", token: w.founded.Token})
		require.Equal(t, http.StatusOK, a.status, "a person is another caller")
	})
}

// TestTwoProcessesOnOneDatabaseShareTheThrottle: 100 of 150 requests to two servers pass, exactly.
func TestTwoProcessesOnOneDatabaseShareTheThrottle(t *testing.T) {
	db := storetest.Postgres(t)
	limited := func(_ *identity.Config, p *main.Parts) { p.RateLimit = 100 }
	one, two := openParts(t, db, nil, limited), openParts(t, db, nil, limited)
	key := one.found(t, "acme").founded.Key.Secret
	var passed atomic.Int64
	var g errgroup.Group
	for i, h := range slices.Repeat([]*house{one, two}, 5) {
		g.Go(func() error {
			for range 15 {
				req, err := http.NewRequestWithContext(t.Context(), "GET", h.url+"/v1/usage", bytes.NewReader(nil))
				if err != nil {
					return err
				}
				req.Header.Set("Authorization", "Bearer "+key)
				resp, err := h.client.Do(req)
				if err != nil {
					return err
				}
				resp.Body.Close()
				switch resp.StatusCode {
				case http.StatusOK:
					passed.Add(1)
				case http.StatusTooManyRequests:
				default:
					return fmt.Errorf("process %d: status %d", i, resp.StatusCode)
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.EqualValues(t, 100, passed.Load())
}
