package api

import (
	"github.com/google/uuid"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/store"
)

// pagination says where a page lies in its list.
func pagination(offset, limit, rows, total int) *callwrightv1.Pagination {
	return &callwrightv1.Pagination{
		Offset:  int32(offset),
		Limit:   int32(limit),
		Total:   int64(total),
		HasMore: offset+rows < total,
	}
}

func pageOf[T any](p store.Page[T]) *callwrightv1.Pagination {
	return pagination(p.Offset, p.Limit, len(p.Rows), p.Total)
}

func deleted(id uuid.UUID) *callwrightv1.DeletedRecord {
	return &callwrightv1.DeletedRecord{Id: id.String(), Deleted: true}
}
