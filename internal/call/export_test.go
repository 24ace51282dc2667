package call

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/store"
)

// CountedUntil is how a window would be looked into without spans, for comparison in benchmarks.
func CountedUntil(ctx context.Context, c *ent.Client, since time.Time, n int) (*time.Time, error) {
	return nthNewest(ctx, inWindow(c, since), n, day)
}

// ForgetSpans deletes spans that no window reaches.
func ForgetSpans(ctx context.Context, tx *store.Tx, workspace uuid.UUID, now time.Time) error {
	return forgetSpans(ctx, tx, workspace, now)
}
