package rest_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/callwright/callwright/gen/callwright/v1"
)

func TestFiltersInBracketsBecomeJSONOfTexts(t *testing.T) {
	f := start(t)
	for query, want := range map[string]string{
		`where={"status":"completed"}`: `{"status":"completed"}`,
		`where= {"a":1.10} `:           `{"a":1.10}`,
		`where=`:                       ``,
		`where[status]=completed`:      `{"brackets":{"status":"completed"}}`,
		`where%5Bstatus%5D=completed`:  `{"brackets":{"status":"completed"}}`,
		`where[created_at][gte]=2026-01-01&where[created_at][lt]=2027`: `{"brackets":{"created_at":{"gte":"2026-01-01","lt":"2027"}}}`,
		`where[z]=1&where[a]=2&where[m]=3`:                             `{"brackets":{"z":"1","a":"2","m":"3"}}`,
		`where[AND][0][status]=busy&where[AND][1][to]=%2B1`:            `{"brackets":{"AND":[{"status":"busy"},{"to":"+1"}]}}`,
		`where[AND][1][status]=b&where[AND][0][status]=a`:              `{"brackets":{"AND":[{"status":"a"},{"status":"b"}]}}`,
		`where[OR][10][a]=x&where[OR][9][a]=y`:                         `{"brackets":{"OR":[{"a":"y"},{"a":"x"}]}}`,
		`where[NOT][AND][0][NOT][status]=x`:                            `{"brackets":{"NOT":{"AND":[{"NOT":{"status":"x"}}]}}}`,
		`where[status][in][]=a&where[status][in][]=b`:                  `{"brackets":{"status":{"in":["a","b"]}}}`,
		`where[status][in][]=a`:                                        `{"brackets":{"status":{"in":["a"]}}}`,
		`where[status][in][0]=a&where[status][in][1]=b`:                `{"brackets":{"status":{"in":["a","b"]}}}`,
		`where[status][in]=a&where[status][in]=b`:                      `{"brackets":{"status":{"in":["a","b"]}}}`,
		`where[status][in]=a,b`:                                        `{"brackets":{"status":{"in":"a,b"}}}`,
		`where[AND][][status]=a&where[AND][][status]=b`:                `{"brackets":{"AND":[{"status":"a"},{"status":"b"}]}}`,
		`where[metadata][path][]=k&where[metadata][equals]=v`:          `{"brackets":{"metadata":{"path":["k"],"equals":"v"}}}`,
		`where[to]=`:                    `{"brackets":{"to":""}}`,
		`where[a"b\\]=<&`:               `{"brackets":{"a\"b\\\\":"<"}}`,
		`unknown[x=1&where[to]=1&x]y=2`: `{"brackets":{"to":"1"}}`,
	} {
		f.listed = nil
		resp, body := f.do("GET", "/v1/call?"+strings.ReplaceAll(query, " ", "+"), "")
		require.Equal(t, 200, resp.StatusCode, query+body)
		require.Equal(t, want, f.listed.GetWhere(), query)
	}
	f.do("GET", `/v1/call?orderBy[duration]=asc`, "")
	require.Equal(t, `{"duration":"asc"}`, f.listed.GetOrderBy())
	f.do("GET", `/v1/call?orderBy[1][to]=asc&orderBy[0][from]=desc`, "")
	require.Equal(t, `[{"from":"desc"},{"to":"asc"}]`, f.listed.GetOrderBy())
	f.do("GET", `/v1/call?orderBy=[{"a":"asc"}]`, "")
	require.Equal(t, `[{"a":"asc"}]`, f.listed.GetOrderBy())
}

func TestQueriesThatAreRefused(t *testing.T) {
	f := start(t)
	for query, message := range map[string]string{
		`where={"a":1}&where[b]=2`:                 "where is given both as JSON and in brackets",
		`where[b]=2&where={"a":1}`:                 "where is given both as JSON and in brackets",
		`where[b]=2&where=`:                        "where is given both as JSON and in brackets",
		`where={"a":1}&where={"b":2}`:              "where is given more than once",
		`orderBy=&orderBy={"to":"asc"}`:            "orderBy is given more than once",
		`where[a]=%00`:                             "valid UTF-8 without NUL",
		`where=%zz`:                                "properly percent-encoded",
		`where={"a":`:                              "where is not valid JSON",
		`where=[1]`:                                "where must be an object",
		`where=completed`:                          "where is not valid JSON",
		`orderBy=created_at`:                       "orderBy is not valid JSON",
		`where={"a":"%5Cu0000"}`:                   "where must not contain NUL",
		`where[a=1`:                                "where has unbalanced brackets",
		`where[a]b=1`:                              "where has unbalanced brackets",
		`where[a[b]]=1`:                            "where has unbalanced brackets",
		`where[a]=1&where[a][b]=2`:                 "where is given both as a value and as an object or list",
		`where[a][]=1&where[a][b]=2`:               "where is given both as a value and as an object or list",
		`where` + strings.Repeat("[a]", 17) + `=1`: "where is nested too deeply",
		`take=abc`:                                 "take must be an integer",
		`take=1.5`:                                 "take must be an integer",
		`take=`:                                    "take must be an integer",
		`take=0x10`:                                "take must be an integer",
		`take=1_0`:                                 "take must be an integer",
		`skip=%2B1`:                                "skip must be an integer",
		`skip=Inf`:                                 "skip must be an integer",
		strings.Repeat("a&", 501):                  "more than 500 parameters",
	} {
		resp, body := f.do("GET", "/v1/call?"+query, "")
		require.Contains(t, refused(t, resp, body, 400, "validation_failed"), message, query)
		if name, _, _ := strings.Cut(strings.ReplaceAll(query, "[", "="), "="); len(name) < 10 {
			var failure struct{ Details struct{ Path string } }
			require.NoError(t, json.Unmarshal([]byte(body), &failure))
			if name != "where" && name != "orderBy" {
				name = ""
			}
			require.Equal(t, name, failure.Details.Path, query)
		}
	}
	require.Nil(t, f.listed)
	resp, body := f.do("GET", "/v1/agents?sort=bad", "")
	require.Equal(t, "sort must be one of created_at:desc, created_at:asc, name:asc, name:desc", refused(t, resp, body, 400, "validation_failed"))
}

func TestQueriesThatAreTaken(t *testing.T) {
	f := start(t)
	f.do("GET", "/v1/call?take=999999999999&skip=5&skip=7&utm_source=x&order_by=y", "")
	require.Equal(t, int32(1<<31-1), f.listed.GetTake(), "beyond the type is its end: the rule clamps or refuses")
	require.Equal(t, int32(7), f.listed.GetSkip(), "the last one counts")
	require.Empty(t, f.listed.GetOrderBy(), "a parameter has one name")
	f.do("GET", "/v1/call?take=-5", "")
	require.Equal(t, int32(-5), f.listed.GetTake(), "the rule refuses it")
	f.do("GET", "/v1/call", "")
	require.Nil(t, f.listed.Take, "absent is told apart from 0")
	f.do("GET", "/v1/agents?sort=name:asc&q="+url.QueryEscape("50%_ ü&"), "")
	require.Equal(t, v1.AgentSort_AGENT_SORT_NAME_ASC, f.agents.GetSort())
	require.Equal(t, "50%_ ü&", f.agents.GetQ())
}
