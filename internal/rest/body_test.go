package rest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
)

func TestBodiesThatAreRefused(t *testing.T) {
	f := start(t)
	deep := strings.Repeat("[", 98) + strings.Repeat("]", 98)
	for name, c := range map[string]struct{ method, path, body, code, message string }{
		"not JSON":                   {"POST", "/v1/call", `{to:1}`, "validation_failed", "body is not valid JSON: invalid character 't'"},
		"cut off":                    {"POST", "/v1/call", `{"to":"+1"`, "validation_failed", "body is not valid JSON"},
		"trailing garbage":           {"POST", "/v1/call", `{"to":"+1"} x`, "validation_failed", "after top-level value"},
		"two documents":              {"POST", "/v1/call", `{}{}`, "validation_failed", "after top-level value"},
		"a list":                     {"POST", "/v1/call", `[1]`, "validation_failed", "body must be an object"},
		"null":                       {"POST", "/v1/call", `null`, "validation_failed", "body must be an object"},
		"a text":                     {"PUT", "/v1/agents/a", `"x"`, "validation_failed", "body must be an object"},
		"a number for a text":        {"POST", "/v1/call", `{"to":5}`, "validation_failed", "to must be a string"},
		"an object for a text":       {"POST", "/v1/call", `{"agent_id":{}}`, "validation_failed", "agent_id must be a string"},
		"a text for a boolean":       {"POST", "/v1/call", `{"test":"true"}`, "validation_failed", "test must be a boolean"},
		"a number for a boolean":     {"POST", "/v1/call", `{"test":1}`, "validation_failed", "test must be a boolean"},
		"a list for an object":       {"POST", "/v1/call", `{"metadata":[1]}`, "validation_failed", "metadata must be an object"},
		"a text for an object":       {"POST", "/v1/call", `{"metadata":"{}"}`, "validation_failed", "metadata must be an object"},
		"variables as a list":        {"POST", "/v1/call", `{"variables":[]}`, "invalid_variables", "variables must be an object"},
		"an object as a variable":    {"POST", "/v1/call", `{"variables":{"a":{}}}`, "invalid_variables", "variables.a must be a string, number or boolean"},
		"a list as a variable":       {"POST", "/v1/call", `{"variables":{"b":"x","a":[1]}}`, "invalid_variables", "variables.a must be a string, number or boolean"},
		"null as a variable":         {"POST", "/v1/call", `{"variables":{"a":null}}`, "invalid_variables", "variables.a must be a string, number or boolean"},
		"a code ends with its field": {"POST", "/v1/call", `{"variables":{},"to":1}`, "validation_failed", "to must be a string"},
		"half an integer":            {"PUT", "/v1/agents/a", `{"ring_duration":1.5}`, "validation_failed", "ring_duration must be an integer"},
		"a text for an integer":      {"PUT", "/v1/agents/a", `{"ring_duration":"1"}`, "validation_failed", "ring_duration must be an integer"},
		"a text for a number":        {"PUT", "/v1/agents/a", `{"creativity":"1"}`, "validation_failed", "creativity must be a number"},
		"a number beyond doubles":    {"PUT", "/v1/agents/a", `{"creativity":1e999}`, "validation_failed", "creativity must be a number"},
		"a text for a list":          {"PUT", "/v1/agents/a", `{"languages":"en"}`, "validation_failed", "languages must be an array"},
		"a number in a list":         {"PUT", "/v1/agents/a", `{"languages":["en",5]}`, "validation_failed", "languages[1] must be a string"},
		"null in a list":             {"PUT", "/v1/agents/a", `{"languages":[null]}`, "validation_failed", "languages[0] must be a string"},
		"NUL in a text":              {"POST", "/v1/call", `{"to":"a\u0000b"}`, "validation_failed", "NUL"},
		"NUL in a key":               {"POST", "/v1/call", `{"variables":{"\u0000":1}}`, "validation_failed", "NUL"},
		"NUL deep in metadata":       {"POST", "/v1/call", `{"metadata":{"a":[{"b":"\\\u0000"}]}}`, "validation_failed", "NUL"},
		"NUL in an unknown member":   {"POST", "/v1/call", `{"x":"\u0000"}`, "validation_failed", "NUL"},
		"half a surrogate pair":      {"POST", "/v1/call", `{"metadata":{"a":"\ud83d"}}`, "validation_failed", "surrogates"},
		"a pair in wrong order":      {"POST", "/v1/call", `{"metadata":{"a":"\ude00\ud83d"}}`, "validation_failed", "surrogates"},
		"invalid UTF-8":              {"POST", "/v1/call", "{\"to\":\"\xff\"}", "validation_failed", "UTF-8"},
		"nested too deeply":          {"POST", "/v1/call", `{"metadata":{"a":[` + deep + `]}}`, "validation_failed", "100 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := f.do(c.method, c.path, c.body)
			require.Contains(t, refused(t, resp, body, 400, c.code), c.message)
		})
	}
	require.Nil(t, f.placed, "none of them reached the service")
	require.Nil(t, f.updated)
}

func TestBodiesThatAreTaken(t *testing.T) {
	f := start(t)
	for name, c := range map[string]struct {
		body string
		want *v1.PlaceCallRequest
	}{
		"empty":            {"", &v1.PlaceCallRequest{}},
		"white space":      {" \n", &v1.PlaceCallRequest{}},
		"an empty object":  {" { } ", &v1.PlaceCallRequest{}},
		"unknown members":  {`{"workspace_id":"w","x":{"to":"no"},"to":"+1","y":[{}]}`, &v1.PlaceCallRequest{To: "+1"}},
		"nulls are absent": {`{"to":null,"variables":null,"metadata":null,"test":null}`, &v1.PlaceCallRequest{}},
		"the last one counts": {`{"to":"a","to":"b","variables":{"a":"1"},"variables":{"b":"2","b":"3"}}`,
			&v1.PlaceCallRequest{To: "b", Variables: map[string]string{"b": "3"}}},
		"null after a value": {`{"to":"a","to":null}`, &v1.PlaceCallRequest{}},
		"variables keep their text": {`{"variables":{"a":12345678901234567,"b":1.10,"c":true,"d":"ü\n","e":1E2,"f":-0}}`,
			&v1.PlaceCallRequest{Variables: map[string]string{"a": "12345678901234567", "b": "1.10", "c": "true", "d": "ü\n", "e": "1E2", "f": "-0"}}},
		"metadata to the byte": {`{"metadata": {"z":1.10, "a" : 12345678901234567890,"z":[{"\u00fc":null}]} }`,
			&v1.PlaceCallRequest{Metadata: `{"z":1.10, "a" : 12345678901234567890,"z":[{"\u00fc":null}]}`}},
		"a surrogate pair": {`{"to":"\ud83d\ude00 \\u0000"}`, &v1.PlaceCallRequest{To: "😀 \\u0000"}},
		"deep but not too deep": {`{"metadata":{"a":` + strings.Repeat("[", 98) + strings.Repeat("]", 98) + `}}`,
			&v1.PlaceCallRequest{Metadata: `{"a":` + strings.Repeat("[", 98) + strings.Repeat("]", 98) + `}`}},
	} {
		t.Run(name, func(t *testing.T) {
			f.placed = nil
			resp, body := f.do("POST", "/v1/call", c.body)
			require.Equal(t, 200, resp.StatusCode, body)
			require.Equal(t, c.want.String(), f.placed.String())
		})
	}
}

func TestThePathWinsOverTheBody(t *testing.T) {
	f := start(t)
	f.do("POST", "/v1/calls/real/cancel", `{"id":"forged"}`)
	require.Equal(t, "real", f.read)
	f.do("PUT", "/v1/agents/real?id=forged&agent.id=forged", `{"id":"forged"}`)
	require.Equal(t, "real", f.updated.GetId())
}

func TestAPartialUpdateKnowsWhatWasSentAsNull(t *testing.T) {
	f := start(t)
	for body, want := range map[string]string{
		``:   `{"agent":{}}`,
		`{}`: `{"agent":{}}`,
		`{"name":"n","role":null,"languages":[],"goals":["g"],"creativity":null}`: `clear:"role" clear:"languages" clear:"creativity" name:"n" goals:"g"`,
		`{"role":null,"role":"r","name":"n","name":null,"clear":["id"]}`:          `clear:"name" role:"r"`,
		`{"description":"","enable_recording":false,"ring_duration":0}`:           `description:"" enable_recording:false ring_duration:0`,
	} {
		resp, text := f.do("PUT", "/v1/agents/a", body)
		require.Equal(t, 200, resp.StatusCode, text)
		if strings.HasPrefix(want, "{") {
			require.NotNil(t, f.updated.GetAgent())
			require.Empty(t, f.updated.GetAgent().GetClear())
			continue
		}
		require.Equal(t, want, strings.Join(strings.Fields(f.updated.GetAgent().String()), " "))
		require.NotContains(t, text, `"clear"`, "it is for input only")
	}
}

func TestIntegersMayBeWrittenAsAnyWholeNumber(t *testing.T) {
	f := start(t)
	for text, want := range map[string]int32{
		"1": 1, "1.0": 1, "-1.000": -1, "1e2": 100, "2.5e1": 25, "0": 0, "-0": 0, "1E+1": 10,
		"2147483648": 1<<31 - 1, "-99999999999": -1 << 31, "1e300": 1<<31 - 1, "99999999999999999999": 1<<31 - 1, "1e999": 1<<31 - 1,
	} {
		resp, body := f.do("PUT", "/v1/agents/a", `{"ring_duration":`+text+`}`)
		require.Equal(t, 200, resp.StatusCode, body)
		require.Equal(t, want, f.updated.GetAgent().GetRingDuration(), text)
	}
}

func TestContentTypes(t *testing.T) {
	f := start(t)
	for kind, ok := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "APPLICATION/JSON;charset=\"UTF-8": true, "text/json": true,
		"application/merge-patch+json": true, "application/x-www-form-urlencoded": true,
		"text/plain": false, "application/xml": false, "multipart/form-data; boundary=x": false, "nonsense": false,
	} {
		resp, body := f.do("POST", "/v1/call", `{"to":"+1"}`, "Content-Type", kind)
		if ok {
			require.Equal(t, 200, resp.StatusCode, kind+body)
			continue
		}
		require.Contains(t, refused(t, resp, body, 400, "validation_failed"), "application/json")
	}
	resp, body := f.do("POST", "/v1/call", `to=%2B1`, "Content-Type", "application/x-www-form-urlencoded")
	require.Contains(t, refused(t, resp, body, 400, "validation_failed"), "application/json")
	resp, body = f.do("POST", "/v1/call", `{}`, "Content-Encoding", "gzip")
	require.Contains(t, refused(t, resp, body, 400, "validation_failed"), "compressed")
	resp, _ = f.do("DELETE", "/v1/call/c1", `whatever`, "Content-Type", "text/plain")
	require.Equal(t, 200, resp.StatusCode, "a method that reads no body does not judge it")
}

func TestABodyOver8MiBIs413(t *testing.T) {
	f := start(t)
	fits := `{"x":"` + strings.Repeat("a", 8<<20-8) + `"}`
	require.Len(t, fits, 8<<20)
	resp, body := f.do("POST", "/v1/call", fits)
	require.Equal(t, 200, resp.StatusCode, body)
	resp, body = f.do("POST", "/v1/call", fits+" ")
	refused(t, resp, body, 413, "body_too_large")

	// The same without a length that says so beforehand.
	r, err := http.NewRequestWithContext(t.Context(), "POST", f.url+"/v1/call", io.MultiReader(strings.NewReader(fits), strings.NewReader(" ")))
	require.NoError(t, err)
	resp, err = http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	refused(t, resp, string(b), 413, "body_too_large")
}

// Many clients write the whole request before they read: they must find the answer and no reset connection.
func TestAClientThatWritesEverythingFirstReadsThe413(t *testing.T) {
	f := start(t)
	for _, header := range []string{"Content-Length: 9000000\r\n", "Transfer-Encoding: chunked\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		require.NoError(t, err)
		_, err = io.WriteString(conn, "POST /v1/call HTTP/1.1\r\nHost: x\r\n"+header+"\r\n")
		require.NoError(t, err)
		if strings.HasPrefix(header, "Transfer") {
			_, err = io.WriteString(conn, fmt.Sprintf("%x\r\n", 9_000_000))
			require.NoError(t, err)
		}
		_, err = io.WriteString(conn, strings.Repeat(" ", 9_000_000))
		require.NoError(t, err, "the connection stays until all is sent")
		if strings.HasPrefix(header, "Transfer") {
			_, err = io.WriteString(conn, "\r\n0\r\n\r\n")
			require.NoError(t, err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		refused(t, resp, string(body), 413, "body_too_large")
		require.NoError(t, conn.Close())
	}
}

func TestAnAnswerHasALengthHoweverLongItIs(t *testing.T) {
	f := start(t)
	f.call.Metadata = `{"a":"` + strings.Repeat("x", 100_000) + `"}`
	resp, body := f.do("GET", "/v1/call/c1", "", "TE", "trailers")
	require.Equal(t, strconv.Itoa(len(body)), resp.Header.Get("Content-Length"))
	require.Empty(t, resp.TransferEncoding)
	require.True(t, bytes.Contains([]byte(body), []byte("xxx")))
}

func TestStoredJSONThatIsBrokenIsOurFault(t *testing.T) {
	f := start(t)
	f.call.Metadata = `{"a":`
	resp, body := f.do("GET", "/v1/call/c1", "")
	refused(t, resp, body, 500, "internal_error")
	f.call.Metadata = ""
	_, body = f.do("GET", "/v1/call/c1", "")
	require.Contains(t, body, `"metadata":{}`)
}
