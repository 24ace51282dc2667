package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAFreshDatabaseIsMigratedAndAnswers(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		require.NoError(t, db.Ping(t.Context()))
		done, err := db.Migrated(t.Context())
		require.NoError(t, err)
		require.True(t, done)
	})
}
