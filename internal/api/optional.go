package api

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// optionalInt and optionalInt32 take rules, which count in int, to messages and back; all bounds are far below 2^31.
func optionalInt(n *int32) *int {
	if n == nil {
		return nil
	}
	w := int(*n)
	return &w
}

func optionalInt32(n *int) *int32 {
	if n == nil {
		return nil
	}
	w := int32(*n)
	return &w
}

func optionalTime(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}
