package resttest_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/rest/resttest"
)

const description = `{"openapi":"3.1.0","paths":{
	"/v1/call/{id}":{"get":{"operationId":"getCall","responses":{
		"200":{"headers":{"Service-Version":{}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Call"}}}},
		"404":{"$ref":"#/components/responses/NotFound"}}}}},
	"components":{"responses":{"NotFound":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Failure"}}}}},
	"schemas":{
		"Call":{"type":"object","properties":{"id":{"type":"string","format":"uuid"},"duration":{"type":["integer","null"]}},
			"required":["id","duration"]},
		"Failure":{"type":"object","properties":{"status":{"type":"integer"},"error_code":{"type":"string"}},"required":["error_code"]}}}}`

const call = `{"id":"0198c1f2-7d3e-7a41-9b52-000000000000","duration":null}`

// What a test holds answers against is only worth something if it can say no.
func TestAnAnswerThatIsNotDescribedIsNoticed(t *testing.T) {
	d, err := resttest.Parse([]byte(description))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		method, path string
		status       int
		kind, body   string
		want         string
	}{
		"as described":             {"GET", "/v1/call/c1?x=1", 200, "application/json", call, ""},
		"by its short path":        {"GET", "/call/c1", 200, "application/json; charset=utf-8", call, ""},
		"a described failure":      {"GET", "/v1/call/c1", 404, "application/json", `{"error_code":"x"}`, ""},
		"without a body":           {"HEAD", "/v1/call/c1", 200, "application/json", "", ""},
		"a member too few":         {"GET", "/v1/call/c1", 200, "application/json", `{"duration":1}`, "id"},
		"a member too many":        {"GET", "/v1/call/c1", 200, "application/json", call[:len(call)-1] + `,"x":1}`, "'x' not allowed"},
		"a value of another type":  {"GET", "/v1/call/c1", 200, "application/json", `{"id":"0198c1f2-7d3e-7a41-9b52-000000000000","duration":"1"}`, "duration"},
		"a value of another form":  {"GET", "/v1/call/c1", 200, "application/json", `{"id":"c1","duration":1}`, "uuid"},
		"another status":           {"GET", "/v1/call/c1", 409, "application/json", `{"error_code":"x"}`, "can not answer 409"},
		"a failure that is none":   {"GET", "/v1/call/c1", 404, "application/json", `{}`, "error_code"},
		"another type":             {"GET", "/v1/call/c1", 200, "text/html", call, "can not be of type"},
		"no JSON":                  {"GET", "/v1/call/c1", 200, "application/json", `{`, "no JSON"},
		"an unknown path":          {"GET", "/v1/nothing", 404, "application/json", `{"error_code":"x"}`, ""},
		"an empty id":              {"GET", "/v1/call/", 404, "application/json", `{"error_code":"x"}`, ""},
		"a path that is not there": {"GET", "/v1/nothing", 200, "application/json", call, "is not described"},
		"a method not there":       {"PUT", "/v1/call/c1", 200, "application/json", call, "is not described"},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{"Content-Type": {c.kind}, "Service-Version": {"x"}}
			err := d.Answer(c.method, c.path, c.status, header, []byte(c.body))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	require.ErrorContains(t, d.Answer("GET", "/v1/call/c1", 200, http.Header{"Content-Type": {"application/json"}}, []byte(call)), "Service-Version")
}
