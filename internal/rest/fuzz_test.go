package rest_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/rest"
)

// Whatever is sent as a body is read or refused; what is read is shown as JSON that reads back to the same.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		`{"contacts":[{"phone":"1","variables":{"a":1.10},"custom_fields":{"k":null}}],"colour":"dark-red"}`,
		`{"any":[1,{"a":"\u00fc\ud83d\ude00"}],"raws":[{}],"at":"2026-01-01","blob":"AP8=","f":1e-7,"big":1.0}`,
		`{"id":"x","emoji":null,"left":"","right":1,"value":[true]}`, `{"a":"\\\u0000"}`, ` {"x" : {"y":"]}"} , "u":1 }`, `[]`, `{"big":-0.0}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		m := message(t, "All")
		if err := rest.Decode(body, m); err != nil {
			require.True(t, utf8.ValidString(err.Error()))
			return
		}
		require.True(t, json.Valid([]byte(body)))
		shown, _ := encode(t, nil, m)
		require.True(t, json.Valid([]byte(shown)), shown)
		again := message(t, "All")
		err := rest.Decode(shown, again)
		if err != nil && strings.Contains(err.Error(), "emoji must not be null") {
			return // shown as null, taken as text only: that is what its options ask for
		}
		require.NoError(t, err, shown)
		twice, _ := encode(t, nil, again)
		require.Equal(t, shown, twice, body)
	})
}

// Whatever is sent as a query is read or refused; brackets always become JSON.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		"any[a][0]=1&any[a][1]=2&colours=dark-red", "any[][x]=1&any[][y]=2", "any={\"a\":1}", "any[a]=1&any[a][b]=2", "any[=1&]=2&any[]]=3",
		"f=1e5&big=1.0&at=2026-01-01T00:00:00Z&%zz", "any[a%5B%5D]=%ff", "any[10][a]=1&any[9]=2&any[007]=1&&&=", "any[\"\\]=\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		m := message(t, "All")
		if err := rest.DecodeQuery(raw, m); err != nil {
			require.True(t, utf8.ValidString(err.Error()))
			return
		}
		shown, _ := encode(t, nil, m)
		require.True(t, json.Valid([]byte(shown)), shown)
	})
}

// Whatever the request, the answer is ours: never a 500, always JSON.
func FuzzRequest(f *testing.F) {
	h := newHandler(f)
	f.Add("GET", "/v1/call/c1", "a=b", "")
	f.Add("POST", "/call", "", `{"to":1}`)
	f.Add("PATCH", "/v1//call/%2f", "where[a]=1", "x")
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		if strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || method == "" {
			return
		}
		r := httptest.NewRequest(method, "/", strings.NewReader(body))
		r.URL = &url.URL{Path: "/" + path, RawQuery: query}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Less(t, w.Code, 500, w.Body.String())
		if w.Body.Len() > 0 && w.Header().Get("Content-Type") != "audio/wav" {
			require.True(t, json.Valid(w.Body.Bytes()), w.Body.String())
		}
	})
}
