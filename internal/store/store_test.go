package store_test

import (
	"slices"
	"testing"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestAFreshDatabaseIsMigratedAndAnswers(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		require.NoError(t, db.Ping(t.Context()))
		done, err := db.Migrated(t.Context())
		require.NoError(t, err)
		require.True(t, done)
	})
}

func TestTimesComeBackAsTheyWereStored(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		now := store.Now()
		a, err := newAgent(db.Ent(), "x").SetUpdatedAt(now).Save(ctx)
		require.NoError(t, err)
		got, err := db.Ent().Agent.Get(ctx, a.ID)
		require.NoError(t, err)
		require.Equal(t, now, got.UpdatedAt, "to the microsecond and in UTC")
		n, err := db.Ent().Agent.Query().Where(sql.FieldGTE("updated_at", now.In(time.FixedZone("", 7200)))).Count(ctx)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

func TestTextIsOrderedByCodePoint(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for _, n := range []string{"ä", "b", "Z", "a", "_", "B"} {
			_, err := newAgent(db.Ent(), n).Save(ctx)
			require.NoError(t, err)
		}
		up, err := db.Ent().Agent.Query().Order(store.OrderText("name", false)).Select("name").Strings(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{"B", "Z", "_", "a", "b", "ä"}, up)
		down, err := db.Ent().Agent.Query().Order(store.OrderText("name", true)).Select("name").Strings(ctx)
		require.NoError(t, err)
		slices.Reverse(down)
		require.Equal(t, up, down)
	})
}

func TestFoldIgnoresCaseAndEncodingInAnyScript(t *testing.T) {
	for a, b := range map[string]string{
		"Ärger": "äRGER", "STRASSE": "straße", "ΣΊΣΥΦΟΣ": "σίσυφος", "Ё": "ё", "e\u0301": "\u00c9", "plain": "PLAIN",
	} {
		require.Equal(t, store.Fold(a), store.Fold(b))
	}
	require.NotEqual(t, store.Fold("a"), store.Fold("ä"))
}

func TestUniqueViolationsAreRecognised(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		_, err := db.Ent().PhoneNumber.Create().SetNumber("+4930123456").Save(ctx)
		require.NoError(t, err)
		_, err = db.Ent().PhoneNumber.Create().SetNumber("+4930123456").Save(ctx)
		require.True(t, store.IsUnique(err), err)
		require.False(t, store.IsForeignKey(err))
		a, err := newAgent(db.Ent(), "x").Save(ctx)
		require.NoError(t, err)
		_, err = newAgent(db.Ent(), "x").SetID(a.ID).Save(ctx)
		require.True(t, store.IsUnique(err), err)
		require.False(t, store.IsUnique(nil))
	})
}
