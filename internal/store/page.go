package store

import (
	"context"

	"github.com/callwright/callwright/internal/fault"
)

// Bounds of a page. CONTRACT.md §3: "same conventions as call tags".
const (
	defaultLimit = 50
	maxLimit     = 200
)

// Page is a window of a list. Offset and Limit are as they were applied; Total counts what matches, ignoring paging.
type Page[T any] struct {
	Rows                 []T
	Offset, Limit, Total int
}

// Limit applies the bounds of a page: 50 when absent, more than 200 count as 200. Errors: validation_failed for a
// negative offset and a limit of 0 or less.
func Limit(offset int, limit *int) (int, error) {
	switch {
	case offset < 0:
		return 0, fault.Invalidf("offset must be 0 or more")
	case limit == nil:
		return defaultLimit, nil
	case *limit < 1:
		return 0, fault.Invalidf("limit must be 1 or more")
	}
	return min(*limit, maxLimit), nil
}

// Total counts only where the page itself does not prove the total.
func Total(ctx context.Context, offset, limit, rows int, count func(context.Context) (int, error)) (int, error) {
	if rows < limit && (rows > 0 || offset == 0) {
		return offset + rows, nil
	}
	return count(ctx)
}

// ReadPage reads a window of a list: rows gives the rows of the window, count how many match.
func ReadPage[T any](ctx context.Context, offset int, limit *int, rows func(ctx context.Context, offset, limit int) ([]T, error), count func(context.Context) (int, error)) (p Page[T], err error) {
	p.Offset = offset
	if p.Limit, err = Limit(offset, limit); err != nil {
		return p, err
	}
	if p.Rows, err = rows(ctx, offset, p.Limit); err != nil {
		return p, err
	}
	p.Total, err = Total(ctx, offset, p.Limit, len(p.Rows), count)
	return p, err
}
