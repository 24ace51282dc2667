package analysis_test

import (
	"context"
	"strings"
	"sync"
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

func text(s string) *string { return &s }
func number(n int) *int     { return &n }

func tag(t *testing.T, ctx context.Context, db *store.DB, name, emoji string) *ent.CallTag {
	t.Helper()
	row, _, err := analysis.CreateTag(ctx, db, name, emoji, nil)
	require.NoError(t, err)
	return row
}

func TestCreatingATagTwiceGivesTheSameRow(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		by := uuid.New()
		first, created, err := analysis.CreateTag(ctx, db, "  Hot lead ", "🔥", &by)
		require.NoError(t, err)
		require.True(t, created)
		require.Equal(t, "Hot lead", first.Name)
		require.Equal(t, by, *first.CreatedBy)

		again, created, err := analysis.CreateTag(ctx, db, "Hot lead", "🔥", nil)
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, first.ID, again.ID)
		require.Equal(t, by, *again.CreatedBy)

		for _, differs := range [][2]string{{"Hot lead", ""}, {"hot lead", "🔥"}, {"Hot lead", "❄️"}} {
			_, created, err = analysis.CreateTag(ctx, db, differs[0], differs[1], nil)
			require.NoError(t, err)
			require.True(t, created)
		}
		_, created, err = analysis.CreateTag(other, db, "Hot lead", "🔥", nil)
		require.NoError(t, err)
		require.True(t, created, "of another workspace")
	})
}

func TestSixtyFourIdenticalCreatesMakeOneTag(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		for _, emoji := range []string{"", "🔥"} {
			var mu sync.Mutex
			ids, made := map[uuid.UUID]bool{}, 0
			var g errgroup.Group
			for range 64 {
				g.Go(func() error {
					row, created, err := analysis.CreateTag(ctx, db, "same", emoji, nil)
					if err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					ids[row.ID] = true
					if created {
						made++
					}
					return nil
				})
			}
			require.NoError(t, g.Wait())
			require.Len(t, ids, 1)
			require.Equal(t, 1, made)
		}
	})
}

func TestTagsHoldTheirBounds(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		family := "👨‍👩‍👧‍👦" // seven code points
		row := tag(t, ctx, db, " "+strings.Repeat("ä", 64)+" ", family+"x")
		require.Equal(t, family+"x", row.Emoji)
		for _, bad := range [][2]string{{"", ""}, {"   ", ""}, {strings.Repeat("ä", 65), ""}, {"a", family + "xy"}} {
			_, _, err := analysis.CreateTag(ctx, db, bad[0], bad[1], nil)
			require.Equal(t, "validation_failed", fault.From(err).Code)
			_, err = analysis.UpdateTag(ctx, db, row.ID, &bad[0], &bad[1])
			require.Equal(t, "validation_failed", fault.From(err).Code)
		}
		_, err := analysis.ListTags(ctx, db.Ent(), analysis.TagQuery{Q: strings.Repeat("ä", 101)})
		require.Equal(t, "validation_failed", fault.From(err).Code)
	})
}

func TestTagsAreFoundFoldedAndLiterally(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		tag(t, other, db, "Ärger", "")
		for _, name := range []string{"Ärger", "100% sure", "a_b", "axb", "STRASSE", "zulu", "Zulu", `back\slash`, "it's"} {
			tag(t, ctx, db, name, "")
		}
		names := func(q analysis.TagQuery) []string {
			page, err := analysis.ListTags(ctx, db.Ent(), q)
			require.NoError(t, err)
			if q.Limit == nil {
				require.Equal(t, page.Total, len(page.Rows))
			}
			got := make([]string, len(page.Rows))
			for i, r := range page.Rows {
				got[i] = r.Name
			}
			return got
		}
		require.Equal(t, []string{"Ärger"}, names(analysis.TagQuery{Q: "äRG"}))
		require.Equal(t, []string{"100% sure"}, names(analysis.TagQuery{Q: "%"}))
		require.Equal(t, []string{"a_b"}, names(analysis.TagQuery{Q: "_"}))
		require.Equal(t, []string{"STRASSE"}, names(analysis.TagQuery{Q: "straße"}))
		require.Equal(t, []string{`back\slash`}, names(analysis.TagQuery{Q: `\`}))
		require.Equal(t, []string{"it's"}, names(analysis.TagQuery{Q: "'"}))
		require.Equal(t, []string{"it's", `back\slash`, "Zulu"}, names(analysis.TagQuery{Limit: number(3)}), "newest first")
		require.Equal(t, []string{"100% sure", "a_b"}, names(analysis.TagQuery{Sort: analysis.TagOldest, Offset: 1, Limit: number(2)}))
		require.Equal(t, []string{"100% sure", "STRASSE", "Zulu", "a_b", "axb", `back\slash`, "it's", "zulu", "Ärger"},
			names(analysis.TagQuery{Sort: analysis.TagByName}), "by code point, on both databases")
		require.Equal(t, []string{"Ärger", "zulu"}, names(analysis.TagQuery{Sort: analysis.TagFromName, Limit: number(2)}))
		page, err := analysis.ListTags(ctx, db.Ent(), analysis.TagQuery{Offset: 100, Limit: number(5)})
		require.NoError(t, err)
		require.Empty(t, page.Rows)
		require.Equal(t, 9, page.Total, "total ignores paging")
	})
}

func TestAnUpdateChangesOnlyWhatIsGiven(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		row := tag(t, ctx, db, "a", "🔥")
		same, err := analysis.UpdateTag(ctx, db, row.ID, nil, nil)
		require.NoError(t, err)
		require.True(t, same.UpdatedAt.Equal(row.UpdatedAt))

		changed, err := analysis.UpdateTag(ctx, db, row.ID, text(" Ä "), nil)
		require.NoError(t, err)
		require.Equal(t, "Ä", changed.Name)
		require.Equal(t, "🔥", changed.Emoji)
		require.True(t, changed.UpdatedAt.After(row.UpdatedAt))
		page, err := analysis.ListTags(ctx, db.Ent(), analysis.TagQuery{Q: "ä"})
		require.NoError(t, err)
		require.Len(t, page.Rows, 1, "found under the new name")

		changed, err = analysis.UpdateTag(ctx, db, row.ID, nil, text(""))
		require.NoError(t, err)
		require.Empty(t, changed.Emoji)

		other := tag(t, ctx, db, "b", "")
		_, err = analysis.UpdateTag(ctx, db, other.ID, text("Ä"), nil)
		require.Equal(t, "duplicate_tag", fault.From(err).Code)
		require.Equal(t, row.ID.String(), fault.From(err).Details["existing_id"])
		_, err = analysis.UpdateTag(ctx, db, other.ID, text("b"), nil)
		require.NoError(t, err, "its own name")
		_, err = analysis.UpdateTag(ctx, db, uuid.New(), text("b"), nil)
		require.Equal(t, "tag_not_found", fault.From(err).Code)
	})
}
