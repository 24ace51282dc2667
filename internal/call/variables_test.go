package call_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
)

// keys makes n different keys.
func keys(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprintf("k%d", i)] = ""
	}
	return m
}

// sized makes variables whose compact JSON has exactly n bytes.
func sized(n int) map[string]string {
	m := map[string]string{}
	rest := n - len(`{}`)
	for i := 0; rest > 0; i++ {
		room := rest - len(`"a":"",`)
		m[string(rune('a'+i))] = strings.Repeat("x", min(room+1, 1000))
		rest -= len(`"a":"",`) + min(room+1, 1000)
		if room+1 <= 1000 {
			break
		}
	}
	return m
}

func TestVariablesAreRefusedByTheRulesOfTheSpecification(t *testing.T) {
	ok := map[string]map[string]string{
		"none":                          nil,
		"fifty keys":                    keys(50),
		"the longest key":               {"a" + strings.Repeat("b", 62): "x"},
		"digits and underscores":        {"Name_2": "x"},
		"a value of 1000 characters":    {"k": strings.Repeat("ü", 1000)},
		"an empty value":                {"k": ""},
		"4095 bytes":                    sized(4095),
		"HTML signs count once":         {"k": strings.Repeat("<", 1000), "l": strings.Repeat("&", 1000), "m": strings.Repeat(">", 1000), "n": strings.Repeat("\u2028", 340)},
		"line breaks and other escapes": {"k": "a\nb\t\"c\"\\"},
	}
	for name, vars := range ok {
		require.NoError(t, call.CheckVariables(vars), name)
	}
	bad := map[string]struct {
		vars map[string]string
		says string
	}{
		"51 keys":                  {keys(51), "at most 50 keys, not 51"},
		"an empty key":             {map[string]string{"": "x"}, `""`},
		"a key of 64 characters":   {map[string]string{"a" + strings.Repeat("b", 63): "x"}, "abbb"},
		"a digit first":            {map[string]string{"1a": "x"}, `"1a"`},
		"an underscore first":      {map[string]string{"_a": "x"}, `"_a"`},
		"a dash":                   {map[string]string{"first-name": "x"}, `"first-name"`},
		"a letter beyond ASCII":    {map[string]string{"größe": "x"}, "größe"},
		"a line break at the end":  {map[string]string{"a\n": "x"}, `"a\n"`},
		"keys alike but for case":  {map[string]string{"name": "a", "Name": "b"}, `"name" collides with "Name"`},
		"1001 characters":          {map[string]string{"k": strings.Repeat("x", 1001)}, `"k" must have at most 1000 characters`},
		"1001 wide characters":     {map[string]string{"k": strings.Repeat("ü", 1001)}, `"k"`},
		"a NUL character":          {map[string]string{"k": "a\x00b"}, `"k" must not contain a NUL`},
		"invalid UTF-8":            {map[string]string{"k": "\xff"}, `"k" must be valid UTF-8`},
		"invalid UTF-8 in a key":   {map[string]string{"k\xff": ""}, "must be a letter"},
		"4096 bytes":               {sized(4096), "under 4096 bytes as JSON, not 4096"},
		"escapes count as written": {map[string]string{"k": strings.Repeat("\x01", 700)}, "bytes"},
	}
	for name, c := range bad {
		err := call.CheckVariables(c.vars)
		require.True(t, fault.Is(err, "invalid_variables"), "%s: %v", name, err)
		require.Equal(t, fault.Invalid, fault.From(err).Kind)
		require.Contains(t, fault.From(err).Message, c.says, name)
	}
	require.Equal(t, "1a", fault.From(call.CheckVariables(map[string]string{"1a": ""})).Details["key"])
}

// The size is that of the object as a JSON encoder writes it that escapes only what JSON must.
func TestTheSizeOfVariablesIsThatOfTheirCompactJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vars := rapid.MapOfN(rapid.StringMatching(`[a-z][a-z0-9]{0,5}`), rapid.StringN(0, 1000, 3000), 1, 8).Draw(t, "vars")
		for k, v := range vars {
			vars[k] = strings.ReplaceAll(v, "\x00", "")
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(vars))
		text := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(b.String(), "\n"))
		if strings.Contains(text, "\\\u2028") || strings.Contains(text, "\\\u2029") {
			t.Skip("an escaped backslash stands before")
		}
		err := call.CheckVariables(vars)
		if len(text) < 4096 {
			require.NoError(t, err, len(text))
		} else {
			require.ErrorContains(t, err, fmt.Sprintf("not %d", len(text)))
		}
	})
}
