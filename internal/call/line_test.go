package call_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// On a real line the caps bind at the moment of dialing; test conversations, which go to the sandbox, are free of them and
// do not count.
func TestCapsBindWhenARealLineIsDialed(t *testing.T) {
	trunk := call.Line{Real: true, Numbers: []string{"+12125550100"}, From: "+12125550100"}
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		claim := func() *ent.Call {
			c, err := trunk.Claim(r.system, db, r.workspace, "me", time.Minute)
			require.NoError(t, err)
			return c
		}
		dialed := func(id uuid.UUID, at time.Time) {
			require.NoError(t, db.Ent().Call.UpdateOneID(id).SetDialedAt(at).Exec(r.ctx))
		}
		var placed []*ent.Call
		for range 6 {
			c := r.place(call.Request{To: "+12125550155", Line: trunk})
			require.Equal(t, "+12125550100", c.FromNumber, "the trunk's own number")
			placed = append(placed, c)
		}
		for i, c := range placed[:5] {
			require.Equal(t, c.ID, claim().ID)
			if i == 0 {
				dialed(c.ID, store.Now().Add(time.Hour)) // surely in this second
				require.Nil(t, claim(), "one in a second")
				require.Equal(t, "queued", r.get(placed[1].ID).Status, "it only waits")
			}
			dialed(c.ID, store.Now().Add(-time.Minute))
		}
		require.Nil(t, claim(), "five to a number in a day")
		last := r.get(placed[5].ID)
		require.Equal(t, "blocked", last.Status)
		require.Equal(t, policy.ReasonPerNumber, *last.EndedReason)
		require.Nil(t, last.DialedAt)

		test := r.place(call.Request{To: "+12125550155", Line: trunk, Test: true})
		require.Equal(t, test.ID, claim().ID)
		require.Equal(t, call.SandboxNumber, test.FromNumber)
	})
}
