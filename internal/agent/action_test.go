package agent_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func actions(t *testing.T, db *store.DB) (context.Context, agent.Actions, *ent.Agent) {
	ctx, _ := storetest.Workspace(t, db)
	name := "Juniper"
	a, err := agent.Create(ctx, db, agent.Settings{Name: &name})
	require.NoError(t, err)
	client := egress.New(egress.Config{})
	t.Cleanup(client.Close)
	return ctx, agent.Actions{DB: db, Key: secret.NewKey(), Egress: client}, a
}

func p[T any](v T) *T { return &v }

func TestHeaderValuesAreSealedAndKeptBehindTheirMask(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, as, a := actions(t, db)
		row, err := as.Create(ctx, a.ID, agent.Action{
			Type: agent.ActionWebhook, Name: p("CRM"), URL: p("https://crm.example.com/hook"),
			Headers: map[string]string{"Authorization": "Bearer CANARY", "X-Tenant": "7"},
		})
		require.NoError(t, err)
		require.Equal(t, []string{"Authorization", "X-Tenant"}, row.HeaderNames)
		require.False(t, bytes.Contains(row.Headers, []byte("CANARY")))

		row, err = as.Update(ctx, a.ID, row.ID, agent.Action{Headers: map[string]string{"Authorization": agent.Masked, "X-New": "1"}})
		require.NoError(t, err)
		headers, err := as.Headers(row)
		require.NoError(t, err)
		require.Equal(t, map[string]string{"Authorization": "Bearer CANARY", "X-New": "1"}, headers)

		_, err = as.Update(ctx, a.ID, row.ID, agent.Action{Headers: map[string]string{"X-Other": agent.Masked}})
		require.ErrorContains(t, err, "X-Other has no stored value")
		row, err = as.Update(ctx, a.ID, row.ID, agent.Action{Clear: []string{"headers"}})
		require.NoError(t, err)
		headers, err = as.Headers(row)
		require.NoError(t, err)
		require.Empty(t, headers)

		other, err := as.Create(ctx, a.ID, agent.Action{Type: agent.ActionWebhook, Name: p("Other"), URL: p("https://x.example.com"), Headers: map[string]string{"A": "b"}})
		require.NoError(t, err)
		other.ID = row.ID
		_, err = as.Headers(other)
		require.ErrorIs(t, err, secret.ErrSealed, "a value opens only in its own row")
	})
}

func TestKeysAreStableSlugs(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, as, a := actions(t, db)
		make := func(kind, name string) *ent.Action {
			row, err := as.Create(ctx, a.ID, agent.Action{Type: kind, Name: &name})
			require.NoError(t, err)
			return row
		}
		row := make(agent.ActionExtractData, "Préférence d'appel")
		require.Equal(t, "preference-dappel", row.Key)
		require.Equal(t, "text", row.Format)
		require.Equal(t, "preference-dappel-2", make(agent.ActionExtractData, "Préférence d'appel").Key)
		require.Equal(t, "preference-dappel", make(agent.ActionSuccessCheck, "Préférence d'appel").Key, "of another type")
		require.Regexp(t, "^action-[0-9a-f]{8}$", make(agent.ActionSuccessCheck, "🔥").Key)

		renamed, err := as.Update(ctx, a.ID, row.ID, agent.Action{Name: p("Callback time")})
		require.NoError(t, err)
		require.Equal(t, "Callback time", renamed.Name)
		require.Equal(t, "preference-dappel", renamed.Key)
		same, err := as.Update(ctx, a.ID, row.ID, agent.Action{})
		require.NoError(t, err)
		require.True(t, same.UpdatedAt.Equal(renamed.UpdatedAt))
	})
}

func TestActionsTakeOnlyWhatTheirTypeMeans(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, as, a := actions(t, db)
		hook := func(url string, headers map[string]string) agent.Action {
			return agent.Action{Type: agent.ActionWebhook, Name: p("x"), URL: &url, Headers: headers}
		}
		for message, in := range map[string]agent.Action{
			"type must be":            {Type: "email", Name: p("x")},
			"name is required":        {Type: agent.ActionSummary},
			"name must have":          {Type: agent.ActionSummary, Name: p(" ")},
			"url is required":         {Type: agent.ActionWebhook, Name: p("x")},
			"url must start":          hook("http://a.example.com", nil),
			"url must lead to a publ": hook("https://127.0.0.1/", nil),
			"prompt belongs to":       {Type: agent.ActionExtractData, Name: p("x"), Prompt: p("y")},
			"format must be":          {Type: agent.ActionExtractData, Name: p("x"), Format: p("money")},
			"icon must have":          {Type: agent.ActionSuccessCheck, Name: p("x"), Icon: p("123456789")},
			"line break":              hook("https://a.example.com", map[string]string{"X-A": "a\r\nX-B: c"}),
			"Content-Length is set":   hook("https://a.example.com", map[string]string{"content-length": "5"}),
			"X-Delivery-Id is set":    hook("https://a.example.com", map[string]string{"x-delivery-id": "5"}),
			"stands there twice":      hook("https://a.example.com", map[string]string{"x-a": "1", "X-A": "2"}),
		} {
			_, err := as.Create(ctx, a.ID, in)
			require.ErrorContains(t, err, message)
			require.Equal(t, "validation_failed", fault.From(err).Code)
		}
		row, err := as.Create(ctx, a.ID, hook("https://a.example.com", nil))
		require.NoError(t, err)
		for _, in := range []agent.Action{{Type: agent.ActionSummary}, {Prompt: p("x")}, {Clear: []string{"url"}}, {Clear: []string{"name"}}} {
			_, err = as.Update(ctx, a.ID, row.ID, in)
			require.Equal(t, "validation_failed", fault.From(err).Code)
		}
	})
}

func TestActionsBelongToTheirAgent(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, as, a := actions(t, db)
		b, err := agent.Create(ctx, db, agent.Settings{Name: p("Other")})
		require.NoError(t, err)
		foreign, _ := storetest.Workspace(t, db)
		row, err := as.Create(ctx, a.ID, agent.Action{Type: agent.ActionSummary, Name: p("Short")})
		require.NoError(t, err)

		code := func(err error) string { return fault.From(err).Code }
		_, err = as.Get(ctx, b.ID, row.ID)
		require.Equal(t, "action_not_found", code(err))
		_, err = as.Get(foreign, a.ID, row.ID)
		require.Equal(t, "agent_not_found", code(err))
		_, err = as.Update(ctx, b.ID, row.ID, agent.Action{Name: p("y")})
		require.Equal(t, "action_not_found", code(err))
		require.Equal(t, "agent_not_found", code(as.Delete(foreign, a.ID, row.ID)))
		_, err = as.Create(ctx, uuid.New(), agent.Action{Type: agent.ActionSummary, Name: p("y")})
		require.Equal(t, "agent_not_found", code(err))

		page, err := as.List(ctx, a.ID, 0, nil)
		require.NoError(t, err)
		require.Equal(t, []int{1, 50, 1}, []int{len(page.Rows), page.Limit, page.Total})
		require.NoError(t, as.Delete(ctx, a.ID, row.ID))
		require.Equal(t, "action_not_found", code(as.Delete(ctx, a.ID, row.ID)))
		require.NoError(t, agent.Delete(ctx, db, a.ID))
	})
}
