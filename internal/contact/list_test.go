package contact_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestListsFilterAndOrderContacts(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for _, f := range []contact.Field{{Key: new("city"), Type: new("text")}, {Key: new("age"), Type: new("number")}, {Key: new("vip"), Type: new("boolean")}} {
			_, err := contact.CreateField(ctx, db, f)
			require.NoError(t, err)
		}
		for _, in := range []contact.Input{
			{Phone: new("+14155550101"), FirstName: new("Ärger"), LastName: new("Zorn"), Email: new("A@example.com"), CustomFields: json.RawMessage(`{"city":"Köln","age":40,"vip":true}`)},
			{Phone: new("+14155550102"), FirstName: new("bob"), Status: new("archived"), CustomFields: json.RawMessage(`{"city":"Bonn","age":41}`)},
			{Phone: new("+14155550103"), LastName: new("50%_off"), CustomFields: json.RawMessage(`{"age":40.0}`)},
		} {
			_, _, err := contact.Create(ctx, db, in)
			require.NoError(t, err)
		}
		last := func(rows []*ent.Contact) string {
			var b strings.Builder
			for _, c := range rows {
				b.WriteByte(c.Phone[len(c.Phone)-1])
			}
			return b.String()
		}
		for where, want := range map[string]string{
			"":                         "321",
			`{"phone":"+14155550102"}`: "2",
			`{"first_name":{"equals":"ärger","mode":"insensitive"}}`:                            "1",
			`{"first_name":{"contains":"RG","mode":"insensitive"}}`:                             "1",
			`{"first_name":"ärger"}`:                                                            "",
			`{"first_name":null}`:                                                               "3",
			`{"first_name":{"not":"bob"}}`:                                                      "31",
			`{"last_name":{"contains":"%_"}}`:                                                   "3",
			`{"email":{"endsWith":"@EXAMPLE.com","mode":"insensitive"}}`:                        "1",
			`{"status":{"in":["archived","do_not_call"]}}`:                                      "2",
			`{"NOT":{"status":"active"}}`:                                                       "2",
			`{"created_at":{"gte":"2020-01-01"}}`:                                               "321",
			`{"updated_at":{"lt":"2020-01-01"}}`:                                                "",
			`{"custom_fields":{"path":["city"],"equals":"Köln"}}`:                               "1",
			`{"custom_fields":{"path":["age"],"equals":40}}`:                                    "31",
			`{"custom_fields":{"path":["age"],"equals":"40"}}`:                                  "",
			`{"custom_fields":{"path":["vip"],"equals":true}}`:                                  "1",
			`{"custom_fields":{"path":["vip"],"equals":null}}`:                                  "32",
			`{"OR":[{"first_name":"bob"},{"custom_fields":{"path":["city"],"equals":"Köln"}}]}`: "21",
		} {
			p, err := contact.List(ctx, db.Ent(), contact.Query{Where: where})
			require.NoError(t, err, where)
			require.Equal(t, want, last(p.Contacts), where)
			require.Equal(t, len(want), p.Total, where)
		}
		for order, want := range map[string]string{
			`{"created_at":"asc"}`: "123", `{"phone":"desc"}`: "321", `{"first_name":"asc"}`: "213", `{"first_name":"desc"}`: "123",
			`[{"last_name":"asc"},{"created_at":"asc"}]`: "312", `{"updated_at":"asc"}`: "123",
		} {
			p, err := contact.List(ctx, db.Ent(), contact.Query{OrderBy: order})
			require.NoError(t, err, order)
			require.Equal(t, want, last(p.Contacts), order)
		}
		p, err := contact.List(ctx, db.Ent(), contact.Query{Skip: 2, Take: new(2)})
		require.NoError(t, err)
		require.Equal(t, []any{"1", 3, 2}, []any{last(p.Contacts), p.Total, p.CurrentPage})
		for _, bad := range []contact.Query{
			{Skip: -1}, {Take: new(0)}, {Where: `{"workspace_id":"x"}`}, {Where: `{"notes":"x"}`}, {Where: `[]`},
			{Where: `{"status":"gone"}`}, {OrderBy: `{"email":"asc"}`}, {OrderBy: `{"phone":"up"}`},
		} {
			_, err := contact.List(ctx, db.Ent(), bad)
			require.Equal(t, "validation_failed", fault.From(err).Code, bad)
		}
		other, _ := storetest.Workspace(t, db)
		p, err = contact.List(other, db.Ent(), contact.Query{})
		require.NoError(t, err)
		require.Empty(t, p.Contacts)
		require.False(t, slices.Contains([]int{3}, p.Total))
	})
}
