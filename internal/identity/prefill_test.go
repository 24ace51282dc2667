package identity_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/identity"
)

// spec: Pairing, prefill.
func TestPrefillBecomesAFragment(t *testing.T) {
	long := strings.Repeat("é", 128)
	for name, c := range map[string]struct{ prefill, want string }{
		"nothing":                         {``, ``},
		"null":                            {`null`, ``},
		"an empty object":                 {`{}`, ``},
		"all":                             {`{"email":"ana@example.com","first_name":"Ana","last_name":"Lopez","phone":"+14155550142"}`, `email=ana%40example.com&first_name=Ana&last_name=Lopez&phone=%2B14155550142`},
		"a full name":                     {`{"name":"Ana Lopez"}`, `first_name=Ana&last_name=Lopez`},
		"a full name of three words":      {`{"name":"Ana María Lopez"}`, `first_name=Ana&last_name=Mar%C3%ADa%20Lopez`},
		"a full name of one word":         {`{"name":"Ana"}`, `first_name=Ana`},
		"a full name with spaces":         {`{"name":"  Ana   Lopez "}`, `first_name=Ana&last_name=Lopez`},
		"a name beside the first":         {`{"name":"Bo Li","first_name":"Ana"}`, `first_name=Ana`},
		"a name beside the last":          {`{"name":"Bo Li","last_name":"Lopez"}`, `last_name=Lopez`},
		"a name beside both":              {`{"name":"Bo Li","first_name":"Ana","last_name":"Lopez"}`, `first_name=Ana&last_name=Lopez`},
		"a name beside nulls":             {`{"name":"Bo Li","first_name":null,"last_name":null}`, `first_name=Bo&last_name=Li`},
		"a name beside an invalid one":    {`{"name":"Bo Li","first_name":5}`, ``},
		"a US number":                     {`{"phone":"(415) 555-0142"}`, `phone=%2B14155550142`},
		"a number of another country":     {`{"phone":"+44 20 7946 0958"}`, `phone=%2B442079460958`},
		"no number":                       {`{"phone":"call me"}`, ``},
		"a short number":                  {`{"phone":"12"}`, ``},
		"a number as a number":            {`{"phone":4155550142}`, ``},
		"no address":                      {`{"email":"ana"}`, ``},
		"an address with a name":          {`{"email":"Ana <ana@example.com>"}`, ``},
		"128 characters":                  {`{"first_name":"` + long + `"}`, `first_name=` + url.QueryEscape(long)},
		"129 characters":                  {`{"first_name":"` + long + `é","last_name":"Lopez"}`, `last_name=Lopez`},
		"a NUL":                           {`{"first_name":"A\u0000","last_name":"Lopez"}`, `last_name=Lopez`},
		"a line break":                    {`{"first_name":"A\nB","last_name":"Lopez"}`, `last_name=Lopez`},
		"half a surrogate pair":           {`{"first_name":"\ud800","last_name":"Lopez"}`, `last_name=Lopez`},
		"what could break out":            {`{"first_name":"<b>&\"#?=","last_name":"Lopez"}`, `first_name=%3Cb%3E%26%22%23%3F%3D&last_name=Lopez`},
		"a list":                          {`["a"]`, ``},
		"a text":                          {`"ana@example.com"`, ``},
		"a number":                        {`5`, ``},
		"true":                            {`true`, ``},
		"objects inside":                  {`{"email":{"a":1},"first_name":["Ana"],"phone":false}`, ``},
		"an unknown member":               {`{"company":"Harbor"}`, ``},
		"members in another case":         {`{"Email":"ana@example.com"}`, ``},
		"spaces only":                     {`{"first_name":"   "}`, ``},
		"deep":                            {strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500), ``},
		"what gRPC sends that is no JSON": {`{"email"`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, identity.Fragment(json.RawMessage(c.prefill)))
		})
	}
}

// Whatever comes, it comes out as at most four known keys that decode to what was given.
func TestEveryPrefillGivesAFragmentThatDecodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.MapOf(rapid.SampledFrom([]string{"email", "first_name", "last_name", "name", "phone", "x"}), rapid.String()).Draw(t, "prefill")
		raw, err := json.Marshal(given)
		require.NoError(t, err)
		values, err := url.ParseQuery(identity.Fragment(raw))
		require.NoError(t, err)
		for key, v := range values {
			require.Contains(t, []string{"email", "first_name", "last_name", "phone"}, key)
			require.Len(t, v, 1)
			require.NotEmpty(t, v[0])
			require.LessOrEqual(t, len([]rune(v[0])), 128)
		}
		if first := strings.TrimSpace(given["first_name"]); values.Has("first_name") && given["first_name"] != "" {
			require.Equal(t, first, values.Get("first_name"))
		}
	})
}
