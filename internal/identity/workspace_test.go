package identity_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/identity"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestAWorkspaceComesWithOwnerKeyAndToken(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		require.Equal(t, "Harbor Dental", w.Workspace.Name)
		require.False(t, w.Workspace.Hipaa)
		require.Equal(t, "UTC", w.Workspace.Timezone)
		require.Equal(t, "owner", w.Owner.Role)
		require.Equal(t, "ana@example.com", *w.Owner.Email, "addresses are kept in lower case")
		require.Equal(t, w.Owner.ID, *w.Key.Row.CreatedBy)

		plan, err := identity.PlanOf(t.Context(), db.Ent(), w.Workspace.ID)
		require.NoError(t, err)
		require.Equal(t, identity.DefaultPlan(), plan)
	})
}

func TestAWorkspaceNeedsNoAddressAndMayBeHIPAA(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		id := found(t, db).id
		f, err := id.CreateWorkspace(t.Context(), identity.NewWorkspace{Name: "  Clinic  ", HIPAA: true})
		require.NoError(t, err)
		require.Equal(t, "Clinic", f.Workspace.Name)
		require.True(t, f.Workspace.Hipaa)
		require.Nil(t, f.Owner.Email)
		g, err := id.CreateWorkspace(t.Context(), identity.NewWorkspace{Name: "Clinic", OwnerEmail: "ana@example.com"})
		require.NoError(t, err, "names and addresses may repeat over workspaces")
		require.NotEqual(t, f.Workspace.ID, g.Workspace.ID)
	})
}

func TestAWorkspaceThatCanNotBeLeavesNothingBehind(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		for name, in := range map[string]identity.NewWorkspace{
			"no name":                {},
			"a name of spaces":       {Name: " \t"},
			"a name of 129":          {Name: strings.Repeat("é", 129)},
			"a name with a NUL":      {Name: "a\x00"},
			"an address without @":   {Name: "A", OwnerEmail: "ana"},
			"an address with a name": {Name: "A", OwnerEmail: "Ana <ana@example.com>"},
			"two addresses":          {Name: "A", OwnerEmail: "a@example.com,b@example.com"},
			"a long address":         {Name: "A", OwnerEmail: strings.Repeat("a", 250) + "@x.io"},
			"a plan out of range":    {Name: "A", Plan: &identity.Plan{ConcurrentCalls: 0, MaxCallMinutes: 1}},
		} {
			_, err := w.id.CreateWorkspace(t.Context(), in)
			require.True(t, fault.Is(err, "validation_failed"), "%s: %v", name, err)
		}
		sys := store.System(t.Context())
		require.Equal(t, 1, db.Ent().Workspace.Query().CountX(sys))
		require.Equal(t, 1, db.Ent().User.Query().CountX(sys))
		require.Equal(t, 1, db.Ent().APIKey.Query().CountX(sys))
	})
}

func TestUsers(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		u, err := w.id.CreateUser(t.Context(), identity.NewUser{WorkspaceID: w.Workspace.ID, Email: "bo@example.com", Name: "Bo"})
		require.NoError(t, err)
		require.Equal(t, "member", u.Role)

		_, err = w.id.CreateUser(t.Context(), identity.NewUser{WorkspaceID: w.Workspace.ID, Email: "BO@example.com"})
		require.True(t, fault.Is(err, "already_exists"), "%v", err)
		_, err = w.id.CreateUser(t.Context(), identity.NewUser{WorkspaceID: w.Workspace.ID, Role: "root"})
		require.True(t, fault.Is(err, "validation_failed"), "%v", err)
		_, err = w.id.CreateUser(t.Context(), identity.NewUser{WorkspaceID: uuid.New()})
		require.True(t, fault.Is(err, "workspace_not_found"), "%v", err)
		for range 2 {
			_, err = w.id.CreateUser(t.Context(), identity.NewUser{WorkspaceID: w.Workspace.ID, Role: "viewer"})
			require.NoError(t, err, "users without an address do not collide")
		}
	})
}

func TestSetPlan(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		w := found(t, db)
		want, err := identity.ParsePlan([]byte(`{"limited":true,"concurrent_calls":3,"max_call_minutes":5,
			"windows":[{"key":"calls_per_day","limit":200},{"key":"minutes_per_30_days","limit":0}]}`))
		require.NoError(t, err)
		require.NoError(t, w.id.SetPlan(t.Context(), w.Workspace.ID, want))
		plan, err := identity.PlanOf(t.Context(), db.Ent(), w.Workspace.ID)
		require.NoError(t, err)
		require.Equal(t, want, plan)

		err = db.InTx(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			locked, err := identity.LockPlan(ctx, tx, w.Workspace.ID)
			require.NoError(t, err)
			require.Equal(t, want, locked)
			_, err = identity.LockPlan(ctx, tx, uuid.New())
			require.True(t, fault.Is(err, "workspace_not_found"), "%v", err)
			return nil
		})
		require.NoError(t, err)

		want.Limited = false
		require.NoError(t, w.id.SetPlan(t.Context(), w.Workspace.ID, want))
		plan, err = identity.PlanOf(t.Context(), db.Ent(), w.Workspace.ID)
		require.NoError(t, err)
		require.Empty(t, plan.Windows, "an unlimited plan has no windows (spec: Usage report)")

		require.True(t, fault.Is(w.id.SetPlan(t.Context(), w.Workspace.ID, identity.Plan{}), "validation_failed"))
		require.True(t, fault.Is(w.id.SetPlan(t.Context(), uuid.New(), want), "workspace_not_found"))
		_, err = identity.PlanOf(t.Context(), db.Ent(), uuid.New())
		require.True(t, fault.Is(err, "workspace_not_found"), "%v", err)
	})
}

func TestParsePlan(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want identity.Plan // zero: validation_failed
	}{
		"nothing said is the default": {`{}`, identity.DefaultPlan()},
		"a whole plan": {
			`{"limited":true,"concurrent_calls":10000,"max_call_minutes":1440,"windows":[{"key":"calls_per_hour","limit":1000000000}]}`,
			identity.Plan{Limited: true, ConcurrentCalls: 10000, MaxCallMinutes: 1440, Windows: []identity.Window{{Key: "calls_per_hour", Limit: 1e9}}},
		},
		"windows null":              {`{"windows":null}`, identity.DefaultPlan()},
		"no JSON":                   {`limited: true`, identity.Plan{}},
		"empty":                     {``, identity.Plan{}},
		"a list":                    {`[]`, identity.Plan{}},
		"two objects":               {`{}{}`, identity.Plan{}},
		"an unknown member":         {`{"limit":true}`, identity.Plan{}},
		"an unknown window":         {`{"windows":[{"key":"calls_per_week","limit":1}]}`, identity.Plan{}},
		"a window without key":      {`{"windows":[{"limit":1}]}`, identity.Plan{}},
		"a window twice":            {`{"windows":[{"key":"calls_per_day","limit":1},{"key":"calls_per_day","limit":2}]}`, identity.Plan{}},
		"a negative limit":          {`{"windows":[{"key":"calls_per_day","limit":-1}]}`, identity.Plan{}},
		"a limit too high":          {`{"windows":[{"key":"calls_per_day","limit":1000000001}]}`, identity.Plan{}},
		"a limit with a fraction":   {`{"windows":[{"key":"calls_per_day","limit":1.5}]}`, identity.Plan{}},
		"no concurrent calls":       {`{"concurrent_calls":0}`, identity.Plan{}},
		"too many concurrent calls": {`{"concurrent_calls":10001}`, identity.Plan{}},
		"calls of no length":        {`{"max_call_minutes":0}`, identity.Plan{}},
		"calls longer than a day":   {`{"max_call_minutes":1441}`, identity.Plan{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := identity.ParsePlan([]byte(c.text))
			if c.want.ConcurrentCalls == 0 {
				require.True(t, fault.Is(err, "validation_failed"), "%v", err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			again, err := json.Marshal(got)
			require.NoError(t, err)
			back, err := identity.ParsePlan(again)
			require.NoError(t, err)
			require.Equal(t, got, back, "what is stored reads back")
		})
	}
	for _, key := range identity.WindowKeys {
		_, err := identity.ParsePlan([]byte(`{"limited":true,"windows":[{"key":"` + key + `","limit":1}]}`))
		require.NoError(t, err, key)
	}
}
