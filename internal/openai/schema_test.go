package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/openai"
)

const analysis = `{"type":"object","title":"T","description":"D","additionalProperties":false,
	"required":["summary","score","count","tags","checks","tag","level"],
	"properties":{
		"summary":{"type":"string"},
		"score":{"type":["number","null"]},
		"count":{"type":"integer"},
		"tags":{"type":"array","items":{"type":"string"}},
		"checks":{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"boolean"}}},
		"tag":{"anyOf":[{"type":"string","enum":["x","y"]},{"type":"null"}]},
		"level":{"enum":[1,"two",null]}}}`

func TestOnlyAnswersOfTheSchemaPass(t *testing.T) {
	cases := map[string]struct{ change, want string }{
		"as it should be":             {`{}`, `{"checks":{"a":true},"count":3,"level":1,"score":0.5,"summary":"s","tag":"x","tags":["t"]}`},
		"nulls where they may be":     {`{"score":null,"tag":null,"level":null}`, `{"checks":{"a":true},"count":3,"level":null,"score":null,"summary":"s","tag":null,"tags":["t"]}`},
		"numbers as they are written": {`{"score":12345678901234567890.10,"count":3.0}`, `{"checks":{"a":true},"count":3.0,"level":1,"score":12345678901234567890.10,"summary":"s","tag":"x","tags":["t"]}`},
		"an empty list":               {`{"tags":[]}`, `{"checks":{"a":true},"count":3,"level":1,"score":0.5,"summary":"s","tag":"x","tags":[]}`},
		"no NUL in texts":             {`{"summary":"a\u0000b","tags":["\u0000"]}`, `{"checks":{"a":true},"count":3,"level":1,"score":0.5,"summary":"ab","tag":"x","tags":[""]}`},
		"a number as a text":          {`{"count":"3"}`, ""},
		"a broken number":             {`{"count":3.5}`, ""},
		"a number beyond all":         {`{"score":1e999}`, ""},
		"null where it may not be":    {`{"summary":null}`, ""},
		"a text for a list":           {`{"tags":"t"}`, ""},
		"a wrong member":              {`{"tags":["t",1]}`, ""},
		"a wrong member of an object": {`{"checks":{"a":"yes"}}`, ""},
		"an unknown member":           {`{"checks":{"a":true,"b":true}}`, ""},
		"a member that lacks":         {`{"checks":{}}`, ""},
		"outside the list":            {`{"tag":"z"}`, ""},
		"outside a mixed list":        {`{"level":2}`, ""},
		"a list for a choice":         {`{"level":[1]}`, ""},
	}
	s := openai.Schema{Name: "analysis", JSON: json.RawMessage(analysis)}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fields := map[string]json.RawMessage{"summary": []byte(`"s"`), "score": []byte(`0.5`), "count": []byte(`3`), "tags": []byte(`["t"]`),
				"checks": []byte(`{"a":true}`), "tag": []byte(`"x"`), "level": []byte(`1`)}
			require.NoError(t, json.Unmarshal([]byte(tc.change), &fields))
			text, err := json.Marshal(fields)
			require.NoError(t, err)
			got, err := client(t, serve(t, says(string(text))).URL).Complete(t.Context(), prompt, s)
			if tc.want == "" {
				require.ErrorIs(t, err, openai.ErrMalformed)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, string(got))
		})
	}
}

func TestANameThatComesTwiceHasOneValue(t *testing.T) {
	m := serve(t, says(`{"ok":"no","ok":true,"why":null}`))
	got, err := client(t, m.URL).Complete(t.Context(), prompt, schema)
	require.NoError(t, err)
	require.Equal(t, `{"ok":true,"why":null}`, string(got))
}

func TestSchemasThatAreNotStrictAreRefusedBeforeAnythingIsSent(t *testing.T) {
	object := func(property string) string {
		return `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":` + property + `}}`
	}
	cases := map[string]struct{ name, json string }{
		"no name":                    {"", object(`{"type":"string"}`)},
		"a name with a space":        {"a b", object(`{"type":"string"}`)},
		"no JSON":                    {"s", `{`},
		"a list at the top":          {"s", `{"type":"array","items":{"type":"string"}}`},
		"nullable at the top":        {"s", `{"type":["object","null"],"additionalProperties":false}`},
		"open for more":              {"s", `{"type":"object","required":[],"properties":{}}`},
		"declared open":              {"s", `{"type":"object","additionalProperties":true}`},
		"a property not required":    {"s", `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}`},
		"required without property":  {"s", `{"type":"object","additionalProperties":false,"required":["a"]}`},
		"a word that is not checked": {"s", object(`{"type":"string","pattern":"^a"}`)},
		"an unknown type":            {"s", object(`{"type":"text"}`)},
		"a type that is a number":    {"s", object(`{"type":1}`)},
		"no type":                    {"s", object(`{}`)},
		"a list of anything":         {"s", object(`{"type":"array"}`)},
		"a bad member of anyOf":      {"s", object(`{"anyOf":[{"type":"text"}]}`)},
	}
	m := serve(t, says(`{}`))
	c := client(t, m.URL)
	for name, tc := range cases {
		s := openai.Schema{Name: tc.name, JSON: json.RawMessage(tc.json)}
		require.Error(t, s.Check(), name)
		_, err := c.Complete(t.Context(), prompt, s)
		require.Error(t, err, name)
	}
	require.Empty(t, m.requests())
	require.NoError(t, schema.Check())
}
