package analysis_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/analysis"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func calls(t *testing.T, ctx context.Context, db *store.DB, n int) []uuid.UUID {
	rows := make([]*ent.CallCreate, n)
	for i := range rows {
		rows[i] = db.Ent().Call.Create().SetDirection("outbound").SetStatus("completed").SetToNumber("+15551234567").SetFromNumber("+15005550000")
	}
	made, err := db.Ent().Call.CreateBulk(rows...).Save(ctx)
	require.NoError(t, err)
	ids := make([]uuid.UUID, n)
	for i, c := range made {
		ids[i] = c.ID
	}
	return ids
}

func TestATagInUseIsDeletedOnlyByForceAndCounted(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		row := tag(t, ctx, db, "a", "")
		ids := calls(t, ctx, db, 3)
		for _, id := range ids {
			require.NoError(t, analysis.SetTag(ctx, db, id, &row.ID))
		}
		require.NoError(t, analysis.SetTag(ctx, db, ids[2], nil))

		_, err := analysis.DeleteTag(other, db, row.ID, true)
		require.Equal(t, "tag_not_found", fault.From(err).Code)
		_, err = analysis.DeleteTag(ctx, db, row.ID, false)
		f := fault.From(err)
		require.Equal(t, "tag_in_use", f.Code)
		require.Equal(t, map[string]any{"in_use_count": 2, "tag_id": row.ID.String()}, f.Details)
		n, err := analysis.DeleteTag(ctx, db, row.ID, true)
		require.NoError(t, err)
		require.Equal(t, 2, *n)
		_, err = analysis.DeleteTag(ctx, db, row.ID, true)
		require.Equal(t, "tag_not_found", fault.From(err).Code)

		unused := tag(t, ctx, db, "b", "")
		n, err = analysis.DeleteTag(ctx, db, unused.ID, true)
		require.NoError(t, err)
		require.Nil(t, n, "only when there were references")
	})
}

func TestTagsAndCallsOfOthersCanNotBeJoined(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		mine, theirs := tag(t, ctx, db, "a", ""), tag(t, other, db, "a", "")
		call, foreign := calls(t, ctx, db, 1)[0], calls(t, other, db, 1)[0]
		code := func(err error) string { return fault.From(err).Code }
		require.Equal(t, "tag_not_found", code(analysis.SetTag(ctx, db, call, &theirs.ID)))
		require.Equal(t, "call_not_found", code(analysis.SetTag(ctx, db, foreign, &mine.ID)))
		require.Equal(t, "call_not_found", code(analysis.SetTag(ctx, db, foreign, nil)))
		require.Equal(t, "call_not_found", code(analysis.SetTag(ctx, db, uuid.New(), nil)))
		require.NoError(t, analysis.SetTag(ctx, db, call, nil))
	})
}

// While tags are deleted, references to them come in: every one that was accepted is counted by the delete that won, or the
// delete was refused with the exact number. None is lost, none is left dangling.
func TestNoReferenceIsLostWhileATagIsDeleted(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		ids := calls(t, ctx, db, 8)
		for round := range 20 {
			row := tag(t, ctx, db, "contested", "")
			force := round%2 == 0
			var accepted atomic.Int64
			var counted int
			var refused bool
			var g errgroup.Group
			for _, id := range ids {
				g.Go(func() error {
					err := analysis.SetTag(ctx, db, id, &row.ID)
					if fault.Is(err, "tag_not_found") {
						return nil
					}
					if err == nil {
						accepted.Add(1)
					}
					return err
				})
			}
			g.Go(func() error {
				n, err := analysis.DeleteTag(ctx, db, row.ID, force)
				if fault.Is(err, "tag_in_use") {
					counted, refused = fault.From(err).Details["in_use_count"].(int), true
					return nil
				}
				if n != nil {
					counted = *n
				}
				return err
			})
			require.NoError(t, g.Wait())
			left := 0
			for _, id := range ids {
				a, err := analysis.Whole(ctx, db.Ent(), id)
				require.NoError(t, err)
				if a != nil && a.CallTagID != nil {
					left++
				}
			}
			if refused {
				require.Positive(t, counted)
				require.LessOrEqual(t, counted, left)
				require.EqualValues(t, accepted.Load(), left, "all stay")
				n, err := analysis.DeleteTag(ctx, db, row.ID, true)
				require.NoError(t, err)
				require.Equal(t, left, *n)
				continue
			}
			require.Zero(t, left, "nothing refers to a tag that is gone")
			require.EqualValues(t, accepted.Load(), counted, "every accepted reference was counted")
		}
	})
}
