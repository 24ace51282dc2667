package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func create(t *testing.T, ctx context.Context, db *store.DB, name string) *ent.Agent {
	t.Helper()
	a, err := agent.Create(ctx, db, agent.Settings{Name: &name})
	require.NoError(t, err)
	return a
}

func requireCode(t *testing.T, err error, code string) *fault.Error {
	t.Helper()
	require.True(t, fault.Is(err, code), "%s wanted: %v", code, err)
	return fault.From(err)
}

func TestAnAgentIsWhatItsFieldsSay(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, workspace := storetest.Workspace(t, db)
		a, err := agent.Create(ctx, db, agent.Settings{
			Name: ptr(" Nora "), Description: ptr(""), Goals: []string{"Book a table", "Be brief"}, Creativity: ptr(0.25), CallLimit: ptr(0),
		})
		require.NoError(t, err)
		got, err := agent.Get(ctx, db.Ent(), a.ID)
		require.NoError(t, err)
		require.Equal(t, workspace, got.WorkspaceID)
		require.Equal(t, "Nora", got.Name)
		require.Equal(t, got.CreatedAt, got.UpdatedAt)
		s, err := agent.SettingsOf(got)
		require.NoError(t, err)
		require.Equal(t, agent.Settings{
			Name: ptr("Nora"), Status: ptr("active"), Modality: ptr("voice"), Language: ptr("en"),
			Goals: []string{"Book a table", "Be brief"}, Creativity: ptr(0.25), CallLimit: ptr(0),
		}, s, "a text without a character is no value, a zero is one")
	})
}

func TestAnUpdateChangesOnlyWhatItSends(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		a, err := agent.Create(ctx, db, agent.Settings{
			Name: ptr("Nora"), Status: ptr("draft"), Language: ptr("de"), Role: ptr("host"), Prompt: ptr("p"), Goals: []string{"g"}, CallBack: ptr(true),
		})
		require.NoError(t, err)
		update := func(in agent.Settings, clear ...string) (*ent.Agent, agent.Settings) {
			got, err := agent.Update(ctx, db, a.ID, in, clear)
			require.NoError(t, err)
			stored, err := agent.Get(ctx, db.Ent(), a.ID)
			require.NoError(t, err)
			require.Equal(t, stored.UpdatedAt, got.UpdatedAt)
			s, err := agent.SettingsOf(stored)
			require.NoError(t, err)
			return stored, s
		}
		before := a.UpdatedAt
		for name, in := range map[string]agent.Settings{
			"nothing": {}, "the same": {Name: ptr("Nora "), Role: ptr("host"), Goals: []string{"g"}}, "an empty text where none is": {Objective: ptr("")},
		} {
			got, _ := update(in)
			require.Equal(t, before, got.UpdatedAt, name)
		}
		got, _ := update(agent.Settings{}, "id", "created_at", "workspace_id", "updated_at", "objective")
		require.Equal(t, before, got.UpdatedAt, "there was nothing to take away")

		got, s := update(agent.Settings{Name: ptr("Äda"), Role: ptr(""), CallBack: ptr(false)}, "goals", "status")
		require.True(t, got.UpdatedAt.After(before))
		require.Equal(t, a.CreatedAt, got.CreatedAt)
		require.Equal(t, agent.Settings{
			Name: ptr("Äda"), Status: ptr("active"), Modality: ptr("voice"), Language: ptr("de"), Prompt: ptr("p"), CallBack: ptr(false),
		}, s)
		_, s = update(agent.Settings{}, "language", "prompt", "call_back")
		require.Equal(t, agent.Settings{Name: ptr("Äda"), Status: ptr("active"), Modality: ptr("voice"), Language: ptr("en")}, s)
		p, err := agent.List(ctx, db.Ent(), agent.Query{Q: "ÄDA"})
		require.NoError(t, err)
		require.Len(t, p.Agents, 1, "the search knows the new name")
	})
}

func TestAnUpdateIsRefusedAsAWhole(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		a := create(t, ctx, db, "Nora")
		for says, c := range map[string]struct {
			in    agent.Settings
			clear []string
		}{
			"name can not":           {agent.Settings{}, []string{"name"}},
			"name must have":         {agent.Settings{Name: ptr(" ")}, nil},
			"clear: there is no":     {agent.Settings{}, []string{"nope"}},
			"role is both":           {agent.Settings{Role: ptr("x")}, []string{"role"}},
			"creativity must be":     {agent.Settings{Role: ptr("x"), Creativity: ptr(2.0)}, nil},
			"goals must have at mos": {agent.Settings{Goals: items(51, "x")}, nil},
		} {
			_, err := agent.Update(ctx, db, a.ID, c.in, c.clear)
			require.Contains(t, requireCode(t, err, "validation_failed").Message, says)
		}
		got, err := agent.Get(ctx, db.Ent(), a.ID)
		require.NoError(t, err)
		require.Equal(t, a.String(), got.String())
	})
}

func TestAgentsOfAnotherWorkspaceDoNotExist(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		mine, _ := storetest.Workspace(t, db)
		theirs, _ := storetest.Workspace(t, db)
		a := create(t, theirs, db, "Nora")
		for _, id := range []uuid.UUID{a.ID, store.NewID()} {
			_, err := agent.Get(mine, db.Ent(), id)
			require.Equal(t, "no such agent", requireCode(t, err, "agent_not_found").Message)
			_, err = agent.Update(mine, db, id, agent.Settings{Name: ptr("x")}, nil)
			requireCode(t, err, "agent_not_found")
			requireCode(t, agent.Delete(mine, db, id), "agent_not_found")
		}
		p, err := agent.List(mine, db.Ent(), agent.Query{})
		require.NoError(t, err)
		require.Empty(t, p.Agents)
		_, err = agent.Get(theirs, db.Ent(), a.ID)
		require.NoError(t, err)
	})
}

func names(p agent.Page) string {
	var out []string
	for _, a := range p.Agents {
		out = append(out, a.Name)
	}
	return strings.Join(out, ",")
}

func TestListsFilterSortAndPage(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for _, s := range []agent.Settings{
			{Name: ptr("b")}, {Name: ptr("Ärger"), Status: ptr("draft")}, {Name: ptr("100%"), Language: ptr("pt-BR")},
			{Name: ptr("a_b"), Modality: ptr("chat")}, {Name: ptr("B"), Status: ptr("inactive")}, {Name: ptr(`a\b`)},
		} {
			_, err := agent.Create(ctx, db, s)
			require.NoError(t, err)
		}
		for name, c := range map[string]struct {
			q    agent.Query
			want string
		}{
			"newest first":             {agent.Query{}, `a\b,B,a_b,100%,Ärger,b`},
			"the same by name":         {agent.Query{Sort: "created_at:desc"}, `a\b,B,a_b,100%,Ärger,b`},
			"oldest first":             {agent.Query{Sort: "created_at:asc"}, `b,Ärger,100%,a_b,B,a\b`},
			"by name":                  {agent.Query{Sort: "name:asc"}, `100%,B,a\b,a_b,b,Ärger`},
			"by name, turned round":    {agent.Query{Sort: "name:desc"}, `Ärger,b,a_b,a\b,B,100%`},
			"any case":                 {agent.Query{Q: "äRG"}, "Ärger"},
			"any case of ASCII":        {agent.Query{Q: "B", Sort: "name:asc"}, `B,a\b,a_b,b`},
			"a literal %":              {agent.Query{Q: "%"}, "100%"},
			"a literal _":              {agent.Query{Q: "_"}, "a_b"},
			"a literal backslash":      {agent.Query{Q: `\`}, `a\b`},
			"nothing found":            {agent.Query{Q: "zzz"}, ""},
			"a status":                 {agent.Query{Status: "draft"}, "Ärger"},
			"a status in any case":     {agent.Query{Status: "INACTIVE"}, "B"},
			"an unknown status":        {agent.Query{Status: "nope"}, ""},
			"a status with a wildcard": {agent.Query{Status: "%"}, ""},
			"a modality":               {agent.Query{Modality: "Chat"}, "a_b"},
			"a language":               {agent.Query{Language: "pt-br"}, "100%"},
			"all of it":                {agent.Query{Q: "b", Status: "active", Modality: "voice", Language: "en"}, `a\b,b`},
		} {
			p, err := agent.List(ctx, db.Ent(), c.q)
			require.NoError(t, err, name)
			require.Equal(t, c.want, names(p), name)
			require.Equal(t, len(p.Agents), p.Total, name)
			require.Equal(t, 50, p.Limit)
		}
		for _, c := range []struct {
			offset      int
			limit       *int
			rows, total int
		}{
			{0, ptr(2), 2, 6}, {4, ptr(2), 2, 6}, {5, ptr(2), 1, 6}, {6, ptr(2), 0, 6}, {1000, nil, 0, 6}, {0, ptr(201), 6, 6}, {0, ptr(6), 6, 6},
		} {
			p, err := agent.List(ctx, db.Ent(), agent.Query{Offset: c.offset, Limit: c.limit})
			require.NoError(t, err)
			require.Len(t, p.Agents, c.rows)
			require.Equal(t, c.total, p.Total)
			require.LessOrEqual(t, p.Limit, 200)
		}
		for _, q := range []agent.Query{
			{Offset: -1}, {Limit: ptr(0)}, {Limit: ptr(-5)}, {Sort: "name"}, {Sort: "status:asc"}, {Q: strings.Repeat("ü", 101)}, {Q: "\x00"},
			{Q: "\xff"}, {Status: "\x00"}, {Language: "\xff"},
		} {
			_, err := agent.List(ctx, db.Ent(), q)
			requireCode(t, err, "validation_failed")
		}
		_, err := agent.List(ctx, db.Ent(), agent.Query{Q: strings.Repeat("ü", 100)})
		require.NoError(t, err)
	})
}

func TestDeletingAnAgentLeavesItsNumbersWithoutOne(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		gone, stays := create(t, ctx, db, "gone"), create(t, ctx, db, "stays")
		a, err := agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+14155550142"), AgentID: &gone.ID})
		require.NoError(t, err)
		b, err := agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+14155550143"), AgentID: &stays.ID})
		require.NoError(t, err)
		require.NoError(t, agent.Delete(ctx, db, gone.ID))
		requireCode(t, agent.Delete(ctx, db, gone.ID), "agent_not_found")
		got, err := agent.GetNumber(ctx, db.Ent(), a.ID)
		require.NoError(t, err)
		require.Nil(t, got.AgentID)
		require.True(t, got.UpdatedAt.After(a.UpdatedAt))
		got, err = agent.GetNumber(ctx, db.Ent(), b.ID)
		require.NoError(t, err)
		require.Equal(t, stays.ID, *got.AgentID)
		require.Equal(t, b.UpdatedAt, got.UpdatedAt)
	})
}
