package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// CONTRACT.md §3, POST /v1/calls/{id}/cancel.
func TestACallCanBeEndedAtAnyTime(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, 1, agent.Settings{})
		r.run(r.config(1))

		ringing := r.place("+15005550001") // rings for half a minute
		r.status(ringing, call.StatusDialing)
		waiting := r.place("+15005550006")
		r.cancel(waiting)
		got := r.ended(waiting)
		require.Equal(t, string(call.StatusCanceled), got.Status)
		require.Nil(t, got.DialedAt, "a call that waited is canceled without a ring")

		r.cancel(ringing)
		got = r.ended(ringing)
		require.Equal(t, string(call.StatusCanceled), got.Status)
		require.Equal(t, "canceled", *got.EndedReason)
		require.Nil(t, got.AnsweredAt)

		talking := r.place("+15005550006")
		r.until(talking, "has said something", func(c *entCall) bool {
			return c.Status == string(call.StatusInProgress) && len(r.turns(talking)) > 0
		})
		r.cancel(talking)
		got = r.ended(talking)
		require.Equal(t, string(call.StatusCompleted), got.Status, "a conversation took place")
		require.Equal(t, "canceled", *got.EndedReason)
		require.NotNil(t, got.Duration)
		r.wav(got)
		require.Equal(t, []string{"+15005550001", "+15005550006"}, r.dialed())
	})
}
