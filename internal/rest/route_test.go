package rest_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPathsThatLeadNowhereAre404(t *testing.T) {
	f := start(t)
	for _, path := range []string{
		"/", "/v1", "/v1/", "/v1/nothing", "/v1/call/", "/v1/call/c1/", "/v1//call", "//v1/call", "/v1/call/c1/other", "/v1/callx",
		"/v1/call/a%2Fb", "/v1/calls/c1%2fcancel", "/v1/call/c1/recording/x", "/V1/call", "/v1/v1/call", "/v2/call",
	} {
		resp, body := f.do("GET", path, "")
		require.Equal(t, "route_not_found", codeOf(body), path)
		refused(t, resp, body, 404, "route_not_found")
		resp, _ = f.do("OPTIONS", path, "")
		require.Equal(t, 404, resp.StatusCode, path)
	}
}

func codeOf(body string) string {
	_, code, _ := strings.Cut(body, `"error_code":"`)
	code, _, _ = strings.Cut(code, `"`)
	return code
}

func TestAPathIsReadAsItWasMeant(t *testing.T) {
	f := start(t)
	f.do("GET", "/v1/c%61ll/c%31", "")
	require.Equal(t, "c1", f.read, "percent-encoding of plain letters means the letters")
	f.do("GET", "/v1/call/%2541", "")
	require.Equal(t, "%41", f.read, "it is decoded once")
	f.do("GET", "/v1/call/a:b", "")
	require.Equal(t, "a:b", f.read)
	for _, path := range []string{"/v1/call/a%00", "/v1/call/%ff", "/v1/call/%C3", "/v1/call?x=%00", "/v1/call?%ff=1", "/v1/call?a=%zz"} {
		resp, body := f.do("GET", path, "")
		refused(t, resp, body, 400, "validation_failed")
	}
}

func TestAWrongMethodIs405AndSaysWhichAreRight(t *testing.T) {
	f := start(t)
	for path, allow := range map[string]string{
		"/v1/call":               "GET, HEAD, POST, OPTIONS",
		"/v1/call/c1":            "DELETE, GET, HEAD, OPTIONS",
		"/call/c1":               "DELETE, GET, HEAD, OPTIONS",
		"/v1/calls/c1/cancel":    "POST, OPTIONS",
		"/v1/call/c1/recording":  "GET, HEAD, OPTIONS",
		"/v1/agents/a1":          "DELETE, GET, HEAD, PUT, OPTIONS",
		"/v1/phone-numbers/none": "DELETE, GET, HEAD, PUT, OPTIONS",
	} {
		resp, body := f.do("PATCH", path, `{}`)
		refused(t, resp, body, 405, "method_not_allowed")
		require.Equal(t, allow, resp.Header.Get("Allow"), path)
		resp, body = f.do("OPTIONS", path, "")
		require.Equal(t, 204, resp.StatusCode)
		require.Empty(t, body)
		require.Equal(t, allow, resp.Header.Get("Allow"), path)
	}
	resp, _ := f.do("HEAD", "/v1/calls/c1/cancel", "")
	require.Equal(t, 405, resp.StatusCode)
}

func TestHeadIsGetWithoutTheBody(t *testing.T) {
	f := start(t)
	get, body := f.do("GET", "/v1/call/c1", "")
	head, none := f.do("HEAD", "/v1/call/c1", "")
	require.Empty(t, none)
	require.Equal(t, 200, head.StatusCode)
	require.EqualValues(t, len(body), head.ContentLength)
	require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"))
}

func TestAMethodIsWhatTheRequestLineSays(t *testing.T) {
	f := start(t)
	f.do("POST", "/v1/call", `{"to":"+1"}`, "X-HTTP-Method-Override", "GET", "Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, "+1", f.placed.GetTo())
	require.Nil(t, f.listed)
	resp, body := f.do("POST", "/v1/call/c1", "a=b", "X-HTTP-Method-Override", "DELETE", "Content-Type", "application/x-www-form-urlencoded")
	refused(t, resp, body, 405, "method_not_allowed")
	resp, body = f.do("POST", "/v1/call/c1", "a=b", "Content-Type", "application/x-www-form-urlencoded")
	refused(t, resp, body, 405, "method_not_allowed")
}

func TestTheSpecificationsShortPathsAnswerToo(t *testing.T) {
	f := start(t)
	for _, path := range []string{"/call/c1", "/call", "/call/c1/recording"} {
		resp, short := f.do("GET", path, "")
		_, long := f.do("GET", "/v1"+path, "")
		require.Equal(t, 200, resp.StatusCode, path)
		require.Equal(t, long, short)
	}
	for _, path := range []string{"/calls/c1", "/agents", "/phone-numbers", "/callx", "/agent", "/usage", "/call-tags"} {
		resp, body := f.do("GET", path, "")
		refused(t, resp, body, 404, "route_not_found")
	}
}

// Each line of rest.yaml must be reachable: a service that is missing from route.go, or a segment of it, fails here.
func TestEveryBindingOfTheProtoIsServed(t *testing.T) {
	yaml, err := os.ReadFile("../../proto/callwright/v1/rest.yaml")
	require.NoError(t, err)
	lines := regexp.MustCompile(`selector: (\S+), (get|post|put|delete|patch): "([^"]+)"`).FindAllStringSubmatch(string(yaml), -1)
	require.NotEmpty(t, lines)
	require.Equal(t, strings.Count(string(yaml), "selector:"), len(lines), "a line of a form that this test does not know")
	f := start(t)
	for _, l := range lines {
		path := regexp.MustCompile(`\{[^}]+\}`).ReplaceAllString(l[3], "x")
		resp, body := f.do(strings.ToUpper(l[2]), path, "")
		require.NotContains(t, body, "route_not_found", l[0])
		require.Empty(t, resp.Header.Get("Allow"), l[0])
	}
}

func TestHeadHasNoBodyWhateverTheWriter(t *testing.T) {
	w := httptest.NewRecorder()
	newHandler(t).ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/v1/call/c1", nil))
	require.Equal(t, 200, w.Code)
	require.Empty(t, w.Body.String())
}
