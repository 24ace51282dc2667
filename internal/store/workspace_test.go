package store_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/migrate"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// notOwned are the tables whose rows belong to no workspace. A new one needs a reason: its owner must scope it by hand.
var notOwned = map[string]string{
	"workspaces": "they are what rows belong to",
	"users":      "may belong to none; sign-in looks them up before a workspace is known",
	"pairings":   "belong to none until somebody approves them",
	"links":      "are used before a workspace is known; a set-up link has none",
	"tallies":    "count strangers",
}

// free are the types of those tables.
var free = []string{"Workspace", "User", "Pairing", "Link", "Tally"}

func TestEveryTableHasAWorkspaceOrAReason(t *testing.T) {
	for _, table := range migrate.Tables {
		if notOwned[table.Name] != "" {
			continue
		}
		c, ok := table.Column("workspace_id")
		require.True(t, ok, "%s has no workspace_id", table.Name)
		require.False(t, c.Nullable, "%s.workspace_id can be null", table.Name)
	}
}

// clients walks the clients of all types, by the names of the types.
func clients(c *ent.Client) map[string]reflect.Value {
	found := map[string]reflect.Value{}
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; strings.HasSuffix(v.Field(i).Type().String(), "."+name+"Client") {
			found[name] = v.Field(i)
		}
	}
	return found
}

// do calls client.method().end(ctx) and gives the error.
func do(client reflect.Value, method, end string, ctx context.Context) error {
	builder := client.MethodByName(method).Call(nil)[0]
	out := builder.MethodByName(end).Call(values(ctx))
	err, _ := out[len(out)-1].Interface().(error)
	return err
}

func values(ctx context.Context) []reflect.Value { return []reflect.Value{reflect.ValueOf(ctx)} }

func TestEveryOwnedTypeFailsWithoutAWorkspace(t *testing.T) {
	operations := []struct{ method, end string }{
		{"Query", "All"}, {"Query", "Count"}, {"Query", "Exist"}, {"Query", "IDs"}, {"Create", "Save"}, {"Update", "Save"}, {"Delete", "Exec"},
	}
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		in, _ := storetest.Workspace(t, db)
		all := clients(db.Ent())
		require.Len(t, all, len(migrate.Tables), "the walk misses a type")
		for name, client := range all {
			if slices.Contains(free, name) {
				continue
			}
			for _, o := range operations {
				err := do(client, o.method, o.end, t.Context())
				require.ErrorIs(t, err, store.ErrNoWorkspace, "%s.%s.%s", name, o.method, o.end)
			}
			err := db.InTx(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return do(clients(tx.Client)[name], "Query", "Count", ctx)
			})
			require.ErrorIs(t, err, store.ErrNoWorkspace, name)
			require.NoError(t, do(client, "Query", "Count", in), name)
			require.NoError(t, do(client, "Query", "Count", store.System(t.Context())), name)
		}
	})
}

func newAgent(c *ent.Client, name string) *ent.AgentCreate {
	return c.Agent.Create().SetName(name).SetNameFold(store.Fold(name)).SetSettings(json.RawMessage("{}"))
}

func named(name string) func(*sql.Selector) { return sql.FieldEQ("name", name) }

func TestAWorkspaceSeesAndTouchesOnlyItsOwnRows(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		a, _ := storetest.Workspace(t, db)
		b, idB := storetest.Workspace(t, db)
		of, err := newAgent(db.Ent(), "of b").Save(b)
		require.NoError(t, err)
		require.Equal(t, idB, of.WorkspaceID, "a create gets the workspace of its context")

		touch := func(c *ent.Client) {
			all, err := c.Agent.Query().All(a)
			require.NoError(t, err)
			require.Empty(t, all)
			_, err = c.Agent.Get(a, of.ID)
			require.True(t, ent.IsNotFound(err), err)
			n, err := c.Agent.Update().Where(named("of b")).SetName("taken").Save(a)
			require.NoError(t, err)
			require.Zero(t, n)
			_, err = c.Agent.UpdateOneID(of.ID).SetName("taken").Save(a)
			require.True(t, ent.IsNotFound(err), err)
			_, err = c.Agent.UpdateOne(of).SetName("taken").Save(a)
			require.True(t, ent.IsNotFound(err), err)
			n, err = c.Agent.Delete().Exec(a)
			require.NoError(t, err)
			require.Zero(t, n)
			require.True(t, ent.IsNotFound(c.Agent.DeleteOneID(of.ID).Exec(a)))
			_, err = newAgent(c, "smuggled").SetWorkspaceID(idB).Save(a)
			require.ErrorContains(t, err, "another workspace")
			_, err = c.Agent.CreateBulk(newAgent(c, "mine"), newAgent(c, "smuggled").SetWorkspaceID(idB)).Save(a)
			require.ErrorContains(t, err, "another workspace")
		}
		touch(db.Ent())
		require.NoError(t, db.InTx(a, func(_ context.Context, tx *store.Tx) error {
			touch(tx.Client)
			return nil
		}))

		left, err := db.Ent().Agent.Query().All(store.System(t.Context()))
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Equal(t, "of b", left[0].Name)
	})
}

func TestSystemSeesAllWorkspacesAndNamesTheOwnerOfWhatItCreates(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		_, idA := storetest.Workspace(t, db)
		_, idB := storetest.Workspace(t, db)
		system := store.System(t.Context())
		for _, id := range []uuid.UUID{idA, idB} {
			got, err := newAgent(db.Ent(), "x").SetWorkspaceID(id).Save(system)
			require.NoError(t, err)
			require.Equal(t, id, got.WorkspaceID)
		}
		n, err := db.Ent().Agent.Query().Count(system)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		_, err = newAgent(db.Ent(), "of nobody").Save(system)
		require.True(t, ent.IsValidationError(err), err)
	})
}

func TestOfWorkspaceAndSystemTheLaterCounts(t *testing.T) {
	id := store.NewID()
	_, ok := store.Workspace(t.Context())
	require.False(t, ok)
	in := store.WithWorkspace(store.System(t.Context()), id)
	got, ok := store.Workspace(in)
	require.True(t, ok)
	require.Equal(t, id, got)
	_, ok = store.Workspace(store.System(in))
	require.False(t, ok)
}

func TestRawSQLThroughAnEntClientIsRefused(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		system := store.System(t.Context())
		_, err := db.Ent().ExecContext(system, "DELETE FROM agents")
		require.ErrorContains(t, err, "not supported")
		require.NoError(t, db.InTx(system, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.QueryContext(ctx, "SELECT 1")
			require.ErrorContains(t, err, "not supported")
			return nil
		}))
	})
}
