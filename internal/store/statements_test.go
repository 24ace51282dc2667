package store_test

import (
	"fmt"
	"strings"
	"testing"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/callwright/callwright/ent/agent"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// More different queries than are kept prepared, from many at once, with some that are being read while theirs is dropped.
func TestQueriesOfEveryShapeAnswerWhetherPreparedOrNot(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for i := range 20 {
			require.NoError(t, newAgent(db.Ent(), fmt.Sprint("agent ", i)).Exec(ctx))
		}
		var g errgroup.Group
		for range 8 {
			g.Go(func() error {
				for i := range 200 {
					shape := func(s *sql.Selector) { s.Where(sql.ExprP(fmt.Sprintf("%d = %d", i, i))) }
					n, err := db.Ent().Agent.Query().Where(shape).Count(ctx)
					if err != nil || n != 20 {
						return fmt.Errorf("shape %d found %d: %w", i, n, err)
					}
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		ids := make([]uuid.UUID, 1000) // a text too long to be kept
		for i := range ids {
			ids[i] = store.NewID()
		}
		n, err := db.Ent().Agent.Query().Where(agent.IDIn(ids...)).Count(ctx)
		require.NoError(t, err)
		require.Zero(t, n)
		_, err = db.Ent().Agent.Query().Where(func(s *sql.Selector) { s.Where(sql.ExprP("no such thing")) }).Count(ctx)
		require.Error(t, err)
		require.False(t, strings.Contains(err.Error(), "closed"))
	})
}
