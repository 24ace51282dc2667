package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
)

// Each parameter at its bounds, one past them, with the wrong type and with null: the table of the specification.
func TestParametersHoldTheirBounds(t *testing.T) {
	text := func(n int) string { return `"` + strings.Repeat("ä", n) + `"` }
	type bounds struct{ good, bad []string }
	integer := []string{`"1"`, `1.5`, `true`, `{}`}
	uuid := bounds{[]string{`"` + id + `"`, `null`}, []string{`"x"`, `5`, `"{` + id + `}"`, `"urn:uuid:` + id + `"`, `""`}}
	offset := bounds{[]string{`0`, `1000000`, `2.0`, `null`}, append([]string{`-1`, `1000001`, `1e40`}, integer...)}
	limit := bounds{[]string{`1`, `200`, `null`}, append([]string{`0`, `201`, `-5`}, integer...)}
	seconds := bounds{[]string{`0`, `99999999999`, `null`}, append([]string{`-1`}, integer...)}
	length := func(n int) bounds {
		return bounds{[]string{text(n), `""`, `null`}, []string{text(n + 1), `5`, `["a"]`, `"a\u0000b"`}}
	}
	time := bounds{
		[]string{`"2026-11-20"`, `"2026-11-20T09:41:07Z"`, `"2026-11-20T09:41:07.120+02:00"`, `null`},
		[]string{`"yesterday"`, `5`, `"2026-02-30"`, `""`},
	}
	one := func(texts ...string) bounds {
		b := bounds{[]string{`null`}, []string{`"other"`, `""`, `1`}}
		for _, s := range texts {
			b.good = append(b.good, `"`+s+`"`)
		}
		return b
	}
	table := map[string]map[string]bounds{
		"list_agents": {
			"q": length(100), "status": length(64), "modality": length(32), "language": length(32), "offset": offset,
			"limit": limit, "sort": one("created_at:desc", "created_at:asc", "name:asc", "name:desc"),
		},
		"list_calls": {
			"agent_id": uuid, "contact_id": uuid, "campaign_id": uuid,
			"status": one("scheduled", "not-scheduled", "paused", "queued", "dialing", "in-progress", "completed", "failed",
				"blocked", "skipped", "no-answer", "busy", "canceled"),
			"direction": one("inbound", "outbound"), "from_date": time, "to_date": time, "to_number": length(32),
			"from_number": length(32), "min_duration": seconds, "max_duration": seconds,
			"answered_by":  one("human", "voicemail", "ivr"),
			"include_test": {[]string{`true`, `false`, `null`}, []string{`"true"`, `1`}},
			"offset":       offset, "limit": limit, "sort": one("created_at:desc", "created_at:asc"),
		},
		"get_agent": {"agent_id": {[]string{uuid.good[0]}, append([]string{`null`}, uuid.bad...)}},
		"get_call":  {"call_id": {[]string{uuid.good[0]}, append([]string{`null`}, uuid.bad...)}},
	}
	a, url := start(t, nil)
	for tool, params := range table {
		for name, b := range params {
			for _, v := range b.good {
				a.asked = nil
				_, failure := call(t, url, tool, `{"`+name+`":`+v+`}`)
				require.Nil(t, failure, "%s %s=%s", tool, name, v)
				require.NotNil(t, a.asked)
			}
			for _, v := range b.bad {
				a.asked = nil
				_, failure := call(t, url, tool, `{"`+name+`":`+v+`}`)
				require.Equal(t, "validation_failed", failure["error_code"], "%s %s=%s", tool, name, v)
				require.Contains(t, failure["message"], name)
				require.Nil(t, a.asked, "a bad argument never reaches the service")
			}
		}
	}
}

func TestArgumentsReachTheServiceAsSent(t *testing.T) {
	a, url := start(t, nil)
	_, failure := call(t, url, "list_calls", `{"agent_id":"`+id+`","status":"no-answer","direction":"inbound","from_date":"2026-11-01",
		"min_duration":3,"answered_by":"ivr","include_test":true,"offset":7,"limit":9,"sort":"created_at:asc","workspace_id":"`+other+`"}`)
	require.Nil(t, failure)
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(a.asked)
	require.NoError(t, err)
	want := `{"agent_id":"` + id + `","status":"CALL_STATUS_NO_ANSWER","direction":"DIRECTION_INBOUND","from_date":"2026-11-01",
		"min_duration":3,"answered_by":"ANSWERED_BY_IVR","include_test":true,"offset":7,"limit":9,"sort":"CALL_SORT_CREATED_AT_ASC"}`
	require.JSONEq(t, want, string(raw))

	for _, args := range []string{`[]`, `"x"`, `5`} {
		_, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_calls","arguments":`+args+`}}`, nil)
		raw, err := json.Marshal(body)
		require.NoError(t, err)
		require.Contains(t, string(raw), "rguments", "arguments that are no object are refused: %s", args)
	}
}
