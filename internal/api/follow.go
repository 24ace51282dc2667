package api

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
)

// maxFollowers bounds the calls that are followed at once by clients of this process: each one asks the database four
// times a second.
const maxFollowers = 500

var followers atomic.Int32

// CONTRACT.md §4, commands call and listen; ours.
func (s *calls) FollowCall(in *callwrightv1.FollowCallRequest, out grpc.ServerStreamingServer[callwrightv1.FollowCallResponse]) error {
	id, err := parseID("id", in.GetId())
	switch {
	case err != nil:
		return err
	case in.GetSkipTurns() < 0:
		return fault.Invalidf("skip_turns must be 0 or more")
	}
	defer followers.Add(-1)
	if followers.Add(1) > maxFollowers {
		busy := fault.New(fault.TooMany, "rate_limited", "Too many calls are being followed at once.")
		busy.RetryAfter = 5 * time.Second
		return busy
	}
	return call.Follow(out.Context(), s.db.Ent(), id, int(in.GetSkipTurns()), func(n call.News) error {
		if n.Call != nil {
			return out.Send(&callwrightv1.FollowCallResponse{Event: &callwrightv1.FollowCallResponse_Call{Call: encodeCall(n.Call)}})
		}
		turn, err := encodeTurn(n.Turn)
		if err != nil {
			return err
		}
		return out.Send(&callwrightv1.FollowCallResponse{Event: &callwrightv1.FollowCallResponse_Turn{Turn: turn}})
	})
}
