package main_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// What the cases want is only worth something if match can say no.
func TestMatchSeesEveryDifference(t *testing.T) {
	for _, c := range []struct {
		want, have string
		ok         bool
	}{
		{`{a: 1}`, `{"a": 1, "b": 2}`, true},
		{`{a: 1}`, `{"a": 2}`, false},
		{`{a: 1}`, `{"a": "1"}`, false},
		{`{a: 1}`, `{"b": 1}`, false},
		{`{a: 1.5}`, `{"a": 1.5}`, true},
		{`{a: null}`, `{"a": null}`, true},
		{`{a: null}`, `{}`, false},
		{`{a: null}`, `{"a": ""}`, false},
		{`{a: false}`, `{"a": null}`, false},
		{`{a: <absent>}`, `{}`, true},
		{`{a: <absent>}`, `{"a": null}`, false},
		{`{a: <any>}`, `{"a": null}`, true},
		{`{a: <any>}`, `{}`, false},
		{`{a: []}`, `{"a": []}`, true},
		{`{a: []}`, `{"a": null}`, false},
		{`{a: [1]}`, `{"a": [1, 2]}`, false},
		{`{a: [{b: 1}]}`, `{"a": [{"b": 1, "c": 2}]}`, true},
		{`{a: [2, 1]}`, `{"a": [1, 2]}`, false},
		{`{a: {}}`, `{"a": []}`, false},
		{`{a: <uuid>}`, `{"a": "0199a2c4-0000-7000-8000-000000000000"}`, true},
		{`{a: <uuid>}`, `{"a": "0199A2C4-0000-7000-8000-000000000000"}`, false},
		{`{a: <time>}`, `{"a": "2026-11-20T09:41:07.120Z"}`, true},
		{`{a: <time>}`, `{"a": "2026-11-20T09:41:07Z"}`, false},
		{`{a: <time>}`, `{"a": "2026-11-20T09:41:07.120123Z"}`, false},
		{`{a: <has bc>}`, `{"a": "abcd"}`, true},
		{`{a: <has bc>}`, `{"a": "acbd"}`, false},
		{`{a: <json 1.10>}`, `{"a": 1.10}`, true},
		{`{a: <json 1.10>}`, `{"a": 1.1}`, false},
		{`{a: "<after 2026-01>"}`, `{"a": "2026-11-20T09:41:07.120Z"}`, true},
		{`{a: "<after 2026-12>"}`, `{"a": "2026-11-20T09:41:07.120Z"}`, false},
	} {
		t.Run(c.want+" "+c.have, func(t *testing.T) {
			var want any
			require.NoError(t, yaml.Unmarshal([]byte(c.want), &want))
			err := match("body", want, readJSON([]byte(c.have)))
			require.Equal(t, c.ok, err == nil, "%v", err)
		})
	}
}

func TestAnswersOfTwoWorkspacesAreComparedByTheOrderOfTheirIDs(t *testing.T) {
	one := "0199a2c4-0000-7000-8000-00000000000"
	of := func(ids ...any) any { return alike{ids: map[string]string{}, own: "+1"}.of(ids) }
	require.Equal(t, of(one+"1", one+"2", one+"1"), of(one+"3", one+"4", one+"3"))
	require.NotEqual(t, of(one+"1", one+"2", one+"1"), of(one+"3", one+"4", one+"4"))
	require.Equal(t, of("at 2026-11-20T09:41:07.120Z"), of("at 2026-11-20T09:41:08.120Z"))
	require.NotEqual(t, of("a"), of("b"))
}
