package store_test

import (
	"context"
	stdsql "database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/callwright/callwright/ent/migrate"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/migrations"
	"github.com/callwright/callwright/internal/store/storetest"
)

// migrated opens the database of c and migrates it.
func migrated(t testing.TB, c store.Config) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Migrate(t.Context()))
	return db
}

// raw opens the database of c beside the store.
func raw(t testing.TB, c store.Config) *stdsql.DB {
	t.Helper()
	driver, dsn := "pgx", c.DatabaseURL
	if dsn == "" {
		driver, dsn = "sqlite", "file:"+filepath.Join(c.DataDir, "callwright.db")+"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)"
	}
	db, err := stdsql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func TestFourReplicasMigrateAtOnce(t *testing.T) {
	storetest.RunEmpty(t, func(t *testing.T, c store.Config) {
		first, err := store.Open(t.Context(), c)
		require.NoError(t, err)
		done, err := first.Migrated(t.Context())
		require.NoError(t, err)
		require.False(t, done, "an empty database is not migrated")
		require.NoError(t, first.Close())

		var g errgroup.Group
		for range 4 {
			db, err := store.Open(t.Context(), c)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			g.Go(func() error {
				if err := db.Migrate(t.Context()); err != nil {
					return err
				}
				done, err := db.Migrated(t.Context())
				require.True(t, done)
				return err
			})
		}
		require.NoError(t, g.Wait())

		var rows, versions int
		require.NoError(t, raw(t, c).QueryRow("SELECT count(*), count(DISTINCT version_id) FROM goose_db_version").Scan(&rows, &versions))
		require.Equal(t, versions, rows, "a migration was applied twice")
	})
}

func TestADatabaseOfANewerVersionIsRefused(t *testing.T) {
	storetest.RunEmpty(t, func(t *testing.T, c store.Config) {
		db := migrated(t, c)
		_, err := raw(t, c).Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99990101000000, true)")
		require.NoError(t, err)
		require.ErrorContains(t, db.Migrate(t.Context()), "newer version of Callwright")
		done, err := db.Migrated(t.Context())
		require.ErrorContains(t, err, "newer version of Callwright")
		require.False(t, done)
	})
}

func TestADatabaseWithoutTheJobQueueIsNotMigrated(t *testing.T) {
	storetest.RunEmpty(t, func(t *testing.T, c store.Config) {
		db := migrated(t, c)
		_, err := raw(t, c).Exec("DELETE FROM river_migration WHERE version = (SELECT max(version) FROM river_migration)")
		require.NoError(t, err)
		done, err := db.Migrated(t.Context())
		require.NoError(t, err)
		require.False(t, done)
	})
}

// When this fails, make a migration: go run ./internal/store/newmigration NAME.
func TestNoDriftBetweenMigrationsAndSchema(t *testing.T) {
	storetest.RunEmpty(t, func(t *testing.T, c store.Config) {
		d := dialect.SQLite
		if c.DatabaseURL != "" {
			d = dialect.Postgres
		}
		dir := t.TempDir() // a plan would be written there
		require.NoError(t, os.CopyFS(dir, migrations.Files(d)))
		err := migrations.Diff(t.Context(), entsql.OpenDB(d, raw(t, c)), dir, "check")
		if err == nil {
			plans, _ := filepath.Glob(filepath.Join(dir, "*_check.sql"))
			plan, _ := os.ReadFile(plans[0])
			t.Fatalf("the schema needs a migration:\n%s", plan)
		}
		require.ErrorIs(t, err, migrations.ErrNoPlan)
	})
}

// SQLite rebuilds a table for many changes: copy, drop, rename. With foreign keys on, the drop deletes what refers to the
// rows; and they can not be switched off inside a transaction.
func TestMigrationsThatRebuildATableSwitchForeignKeysOff(t *testing.T) {
	files := migrations.Files(dialect.SQLite)
	names, err := fs.Glob(files, "*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		require.NoError(t, err)
		if sql := strings.ToLower(string(text)); strings.Contains(sql, "drop table") {
			require.Contains(t, sql, "-- +goose no transaction", name)
			require.Contains(t, sql, "pragma foreign_keys = off", name)
		}
	}
}

// foreignKeys lists, for each table, what its keys refer to and what happens on delete.
func foreignKeys(t *testing.T, c store.Config) map[string][]string {
	t.Helper()
	query := `SELECT m.name, f."table" || '(' || group_concat(f."from" || '=' || f."to", ',' ORDER BY f.seq) || ') ' || max(f.on_delete)
		FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
		WHERE m.type = 'table' AND m.name NOT LIKE 'river%' GROUP BY m.name, f.id, f."table" ORDER BY 1, 2`
	if c.DatabaseURL != "" {
		query = `SELECT conrelid::regclass::text, confrelid::regclass::text || '(' ||
			(SELECT string_agg(a.attname || '=' || b.attname, ',' ORDER BY n) FROM unnest(conkey, confkey) WITH ORDINALITY k(a, b, n)
				JOIN pg_attribute a ON a.attrelid = conrelid AND a.attnum = k.a JOIN pg_attribute b ON b.attrelid = confrelid AND b.attnum = k.b)
			|| ') ' || CASE confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' ELSE 'NO ACTION' END
			FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text NOT LIKE 'river%' ORDER BY 1, 2`
	}
	rows, err := raw(t, c).Query(query)
	require.NoError(t, err)
	defer rows.Close()
	found := map[string][]string{}
	for rows.Next() {
		var table, key string
		require.NoError(t, rows.Scan(&table, &key))
		found[table] = append(found[table], key)
	}
	require.NoError(t, rows.Err())
	for _, keys := range found {
		slices.Sort(keys)
	}
	return found
}

func TestForeignKeysStayInTheWorkspace(t *testing.T) {
	var before map[string][]string
	storetest.RunEmpty(t, func(t *testing.T, c store.Config) {
		migrated(t, c)
		keys := foreignKeys(t, c)
		if before != nil {
			require.Equal(t, before, keys, "both databases have the same keys")
		}
		before = keys
		require.Equal(t, []string{"workspaces(workspace_id=id) SET NULL"}, keys["users"])
		require.Contains(t, keys["phone_numbers"], "agents(workspace_id=workspace_id,agent_id=id) NO ACTION")
		require.Contains(t, keys["turns"], "calls(workspace_id=workspace_id,call_id=id) CASCADE")
		for _, table := range migrate.Tables {
			if notOwned[table.Name] != "" {
				continue
			}
			owner := false
			for _, k := range keys[table.Name] {
				direct := k == "workspaces(workspace_id=id) CASCADE"
				owner = owner || direct || strings.HasSuffix(k, "CASCADE")
				require.True(t, direct || strings.Contains(k, "(workspace_id=workspace_id,"), "%s: %s can point into another workspace", table.Name, k)
			}
			require.True(t, owner, "%s does not go with its workspace", table.Name)
		}
	})
}

func TestNoRowRefersToAnotherWorkspace(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		a, idA := storetest.Workspace(t, db)
		b, idB := storetest.Workspace(t, db)
		agent, err := newAgent(db.Ent(), "of b").Save(b)
		require.NoError(t, err)
		call, err := db.Ent().Call.Create().SetDirection("outbound").SetStatus("queued").SetToNumber("+1").SetFromNumber("+2").Save(b)
		require.NoError(t, err)
		turn := func() error {
			return db.Ent().Turn.Create().SetCallID(call.ID).SetSeq(0).SetRole("user").SetContent("hi").SetStartMs(0).SetEndMs(1).Exec(a)
		}
		require.True(t, store.IsForeignKey(turn()), "a turn in a foreign call")
		err = db.Ent().PhoneNumber.Create().SetNumber("+3").SetAgentID(agent.ID).Exec(a)
		require.True(t, store.IsForeignKey(err), "a number of a foreign agent: %v", err)

		n, err := db.Ent().PhoneNumber.Create().SetNumber("+4").SetAgentID(agent.ID).Save(b)
		require.NoError(t, err)
		err = db.Ent().Agent.DeleteOneID(agent.ID).Exec(b)
		require.True(t, store.IsForeignKey(err), "an agent that a number refers to: %v", err)
		require.NoError(t, db.Ent().PhoneNumber.UpdateOne(n).ClearAgentID().Exec(b))
		require.NoError(t, db.Ent().Agent.DeleteOneID(agent.ID).Exec(b))
		require.NotEqual(t, idA, idB)
	})
}

func TestAWorkspaceGoesWithEverythingButItsUsers(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, id := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		system := store.System(t.Context())
		fill := func(ctx context.Context) {
			agent, err := newAgent(db.Ent(), "x").Save(ctx)
			require.NoError(t, err)
			require.NoError(t, db.Ent().PhoneNumber.Create().SetNumber("+3").SetAgentID(agent.ID).Exec(ctx))
			call, err := db.Ent().Call.Create().SetDirection("outbound").SetStatus("queued").SetToNumber("+1").SetFromNumber("+2").Save(ctx)
			require.NoError(t, err)
			require.NoError(t, db.Ent().Turn.Create().SetCallID(call.ID).SetSeq(0).SetRole("user").SetContent("").SetStartMs(0).SetEndMs(1).Exec(ctx))
			require.NoError(t, db.Ent().CallCount.Create().Exec(ctx))
			require.NoError(t, db.Ent().APIKey.Create().SetHash(agent.ID[:]).SetHint("abcd").SetScopes([]string{"read"}).Exec(ctx))
		}
		fill(other)
		count := func() map[string]int64 {
			n := map[string]int64{}
			for name, client := range clients(db.Ent()) {
				if !slices.Contains(free, name) {
					n[name] = client.MethodByName("Query").Call(nil)[0].MethodByName("CountX").Call(values(system))[0].Int()
				}
			}
			return n
		}
		before := count()
		fill(ctx)
		require.NotEqual(t, before, count())
		user, err := db.Ent().User.Create().SetWorkspaceID(id).Save(system)
		require.NoError(t, err)

		require.NoError(t, db.Ent().Workspace.DeleteOneID(id).Exec(system))
		require.Equal(t, before, count(), "only the other workspace's rows are left")
		user, err = db.Ent().User.Get(system, user.ID)
		require.NoError(t, err)
		require.Nil(t, user.WorkspaceID)
	})
}
