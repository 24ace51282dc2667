package contact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var defs = map[string]definition{
	"note":  {typ: TypeText, longest: 5},
	"age":   {typ: TypeNumber},
	"vip":   {typ: TypeBoolean},
	"born":  {typ: TypeDate},
	"tier":  {typ: TypeSelect, options: []string{"gold", "Silver"}},
	"likes": {typ: TypeMultiSelect, options: []string{"tea", "coffee"}},
	"site":  {typ: TypeURL, longest: 30},
	"mail":  {typ: TypeEmail, longest: 254},
	"old":   {typ: TypeText, archived: true},
}

func TestValuesAreHeldAgainstTheirDefinition(t *testing.T) {
	for _, c := range []struct {
		key, sent, stored string
		code              Code
	}{
		{"note", `" ab "`, `" ab "`, ""}, {"note", `"äöü€x"`, `"äöü€x"`, ""}, {"note", `"<b>"`, `"<b>"`, ""},
		{"note", `"123456"`, "", TooLong}, {"note", `5`, "", TypeMismatch}, {"note", `["a"]`, "", TypeMismatch},
		{"note", `""`, "", EmptyValue}, {"note", `"  "`, "", EmptyValue}, {"note", `{}`, "", TypeMismatch},
		{"age", `12345678901234567`, `12345678901234567`, ""}, {"age", `1.10`, `1.10`, ""}, {"age", `-3e2`, `-3e2`, ""},
		{"age", `"5"`, "", TypeMismatch}, {"age", `true`, "", TypeMismatch}, {"age", `""`, "", EmptyValue},
		{"vip", `true`, `true`, ""}, {"vip", `false`, `false`, ""}, {"vip", `"true"`, "", TypeMismatch}, {"vip", `1`, "", TypeMismatch},
		{"vip", `""`, "", EmptyValue},
		{"born", `"2026-11-20"`, `"2026-11-20"`, ""}, {"born", `"2026-11-20T23:30:00-02:00"`, `"2026-11-20"`, ""},
		{"born", `"2026-02-30"`, "", TypeMismatch}, {"born", `"soon"`, "", TypeMismatch}, {"born", `""`, "", EmptyValue},
		{"tier", `"gold"`, `"gold"`, ""}, {"tier", `" Silver "`, `"Silver"`, ""}, {"tier", `"silver"`, "", OptionInvalid},
		{"tier", `"bronze"`, "", OptionInvalid}, {"tier", `["gold"]`, "", TypeMismatch}, {"tier", `""`, "", EmptyValue},
		{"likes", `["tea"]`, `["tea"]`, ""}, {"likes", `["coffee","tea","coffee"]`, `["coffee","tea"]`, ""},
		{"likes", `["milk"]`, "", OptionInvalid}, {"likes", `"tea"`, "", TypeMismatch}, {"likes", `[1]`, "", TypeMismatch},
		{"likes", `[]`, "", EmptyValue}, {"likes", `[null]`, "", TypeMismatch},
		{"site", `"https://a.example/x"`, `"https://a.example/x"`, ""}, {"site", `"ftp://a.example"`, "", TypeMismatch},
		{"site", `"a.example"`, "", TypeMismatch}, {"site", `"https://` + strings.Repeat("a", 30) + `"`, "", TooLong},
		{"mail", `"ann@example.com"`, `"ann@example.com"`, ""}, {"mail", `" ann@example.com "`, `"ann@example.com"`, ""},
		{"mail", `"Ann <ann@example.com>"`, "", TypeMismatch}, {"mail", `"ann"`, "", TypeMismatch},
		{"old", `"x"`, "", ArchivedKey}, {"old", `null`, "", ArchivedKey}, {"nope", `"x"`, "", UnknownKey},
		{"phone", `"x"`, "", ReservedKey}, {"custom_fields", `{}`, "", ReservedKey},
	} {
		got, warnings, err := merge(defs, nil, json.RawMessage(`{"`+c.key+`":`+c.sent+`}`))
		require.NoError(t, err)
		if c.code != "" {
			require.Len(t, warnings, 1, "%s %s", c.key, c.sent)
			require.Equal(t, c.code, warnings[0].Code, "%s %s", c.key, c.sent)
			require.Equal(t, c.key, warnings[0].Key)
			require.Contains(t, warnings[0].Message, c.key)
			require.Equal(t, `{}`, string(got))
			continue
		}
		require.Empty(t, warnings, "%s %s", c.key, c.sent)
		require.Equal(t, `{"`+c.key+`":`+c.stored+`}`, string(got))
	}
}

func TestAMergeWritesWhatIsSentAndKeepsTheRest(t *testing.T) {
	stored := json.RawMessage(`{"age":1,"note":"a","old":"kept"}`)
	got, warnings, err := merge(defs, stored, json.RawMessage(`{"vip":true,"note":null,"zzz":1,"aaa":2}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"age":1,"old":"kept","vip":true}`, string(got))
	require.Equal(t, []string{"aaa", "zzz"}, []string{warnings[0].Key, warnings[1].Key}, "in the order of the keys")

	got, warnings, err = merge(defs, stored, nil)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.Equal(t, string(stored), string(got))

	for _, sent := range []string{`[]`, `"x"`, `5`, `null`} {
		_, _, err = merge(defs, stored, json.RawMessage(sent))
		require.ErrorContains(t, err, "custom_fields must be an object")
	}
}

func TestWhatIsStoredIsStoredAgainUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent, err := json.Marshal(map[string]any{
			"note": rapid.String().Draw(t, "note"), "age": rapid.Float64().Draw(t, "age"),
			"likes": rapid.SliceOf(rapid.SampledFrom([]string{"tea", "coffee", " tea", "milk"})).Draw(t, "likes"),
			"born":  rapid.StringMatching(`20[0-9]{2}-[01][0-9]-[0-3][0-9]`).Draw(t, "born"),
		})
		require.NoError(t, err)
		once, _, err := merge(defs, nil, sent)
		require.NoError(t, err)
		twice, warnings, err := merge(defs, once, once)
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.Equal(t, string(once), string(twice))
	})
}
