package api

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

func optionalInt(n *int32) *int {
	if n == nil {
		return nil
	}
	wide := int(*n)
	return &wide
}

func optionalInt32(n *int) *int32 {
	if n == nil {
		return nil
	}
	narrow := int32(*n)
	return &narrow
}

func optionalTime(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}
