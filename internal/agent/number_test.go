package agent_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

func TestAPhoneNumberIsUniqueInItsWorkspace(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		first, err := agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+441632960961"), Label: ptr("London")})
		require.NoError(t, err)
		require.True(t, first.Inbound)
		require.True(t, first.Outbound)
		require.Equal(t, "London", *first.Label)
		require.Equal(t, first.CreatedAt, first.UpdatedAt)

		_, err = agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+4401632960961")})
		f := requireCode(t, err, "already_exists")
		require.Equal(t, fault.Exists, f.Kind)
		require.Equal(t, first.ID.String(), f.Details["existing_id"], "the same line, written otherwise")
		second, err := agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+14155550142"), Inbound: ptr(false), Outbound: ptr(false), Label: ptr("")})
		require.NoError(t, err)
		require.False(t, second.Inbound)
		require.False(t, second.Outbound)
		require.Nil(t, second.Label)
		_, err = agent.UpdateNumber(ctx, db, second.ID, agent.Number{Number: &first.Number}, nil)
		require.Equal(t, first.ID.String(), requireCode(t, err, "already_exists").Details["existing_id"])
		_, err = agent.CreateNumber(other, db, agent.Number{Number: ptr("+441632960961")})
		require.NoError(t, err)
	})
}

func TestWhatIsNoNumberOfTheWorkspaceIsRefused(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		foreign := create(t, other, db, "theirs").ID
		unknown := store.NewID()
		n, err := agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+14155550142")})
		require.NoError(t, err)
		for says, in := range map[string]agent.Number{
			"number is required": {}, "number must": {Number: ptr("4155550142")}, "number is not": {Number: ptr("+1555")},
			"label must have": {Number: ptr("+14155550143"), Label: ptr(strings.Repeat("ü", 129))}, "label must not": {Number: ptr("+14155550143"), Label: ptr("\x00")},
		} {
			_, err := agent.CreateNumber(ctx, db, in)
			require.Contains(t, requireCode(t, err, "validation_failed").Message, says)
		}
		for _, id := range []*uuid.UUID{&foreign, &unknown} {
			_, err := agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+14155550143"), AgentID: id})
			requireCode(t, err, "agent_not_found")
			_, err = agent.UpdateNumber(ctx, db, n.ID, agent.Number{AgentID: id}, nil)
			requireCode(t, err, "agent_not_found")
		}
		for says, clear := range map[string][]string{"number can not": {"number"}, "inbound can not": {"inbound"}, "nope can not": {"nope"}} {
			_, err := agent.UpdateNumber(ctx, db, n.ID, agent.Number{}, clear)
			require.Contains(t, requireCode(t, err, "validation_failed").Message, says)
		}
		_, err = agent.UpdateNumber(ctx, db, n.ID, agent.Number{Label: ptr("x")}, []string{"label"})
		requireCode(t, err, "validation_failed")
		for _, id := range []uuid.UUID{unknown, n.ID} {
			_, err = agent.GetNumber(other, db.Ent(), id)
			require.Equal(t, "no such phone_number", requireCode(t, err, "phone_number_not_found").Message)
			_, err = agent.UpdateNumber(other, db, id, agent.Number{Label: ptr("x")}, nil)
			requireCode(t, err, "phone_number_not_found")
			requireCode(t, agent.DeleteNumber(other, db, id), "phone_number_not_found")
		}
		p, err := agent.ListNumbers(ctx, db.Ent(), agent.NumberQuery{})
		require.NoError(t, err)
		require.Len(t, p.Numbers, 1)
	})
}

func TestAnUpdateOfANumberChangesOnlyWhatItSends(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		nora := create(t, ctx, db, "Nora").ID
		n, err := agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+14155550142"), Label: ptr("Desk"), AgentID: &nora})
		require.NoError(t, err)
		update := func(in agent.Number, clear ...string) *ent.PhoneNumber {
			got, err := agent.UpdateNumber(ctx, db, n.ID, in, clear)
			require.NoError(t, err)
			stored, err := agent.GetNumber(ctx, db.Ent(), n.ID)
			require.NoError(t, err)
			require.Equal(t, stored.String(), got.String())
			return got
		}
		require.Equal(t, n.UpdatedAt, update(agent.Number{}).UpdatedAt)
		same := agent.Number{Number: ptr("+14155550142"), Label: ptr("Desk"), AgentID: &nora, Inbound: ptr(true), Outbound: ptr(true)}
		require.Equal(t, n.UpdatedAt, update(same).UpdatedAt)
		got := update(agent.Number{Outbound: ptr(false), Inbound: ptr(false), Number: ptr("+14155550199")})
		require.True(t, got.UpdatedAt.After(n.UpdatedAt))
		require.False(t, got.Outbound)
		require.False(t, got.Inbound)
		require.Equal(t, "+14155550199", got.Number)
		require.Equal(t, "Desk", *got.Label)
		require.Nil(t, update(agent.Number{}, "agent_id", "id").AgentID)
		require.Nil(t, update(agent.Number{Label: ptr("")}).Label)
		require.Equal(t, "New", *update(agent.Number{Label: ptr("New")}).Label)
		require.Nil(t, update(agent.Number{}, "label").Label)
		require.NoError(t, agent.DeleteNumber(ctx, db, n.ID))
		requireCode(t, agent.DeleteNumber(ctx, db, n.ID), "phone_number_not_found")
	})
}

func TestNumbersAreListedNewestFirst(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		nora := create(t, ctx, db, "Nora").ID
		for i, number := range []string{"+14155550141", "+14155550142", "+14155550143"} {
			in := agent.Number{Number: &number}
			if i == 1 {
				in.AgentID = &nora
			}
			_, err := agent.CreateNumber(ctx, db, in)
			require.NoError(t, err)
		}
		list := func(q agent.NumberQuery) (out []string, total int) {
			p, err := agent.ListNumbers(ctx, db.Ent(), q)
			require.NoError(t, err)
			for _, n := range p.Numbers {
				out = append(out, n.Number)
			}
			return out, p.Total
		}
		got, n := list(agent.NumberQuery{})
		require.Equal(t, []string{"+14155550143", "+14155550142", "+14155550141"}, got)
		require.Equal(t, 3, n)
		got, n = list(agent.NumberQuery{Offset: 1, Limit: ptr(1)})
		require.Equal(t, []string{"+14155550142"}, got)
		require.Equal(t, 3, n)
		got, n = list(agent.NumberQuery{AgentID: &nora})
		require.Equal(t, []string{"+14155550142"}, got)
		require.Equal(t, 1, n)
		got, _ = list(agent.NumberQuery{AgentID: ptr(store.NewID())})
		require.Empty(t, got)
		for _, q := range []agent.NumberQuery{{Offset: -1}, {Limit: ptr(0)}} {
			_, err := agent.ListNumbers(ctx, db.Ent(), q)
			requireCode(t, err, "validation_failed")
		}
	})
}

func TestInboundCallsReachTheFirstWorkspaceWithTheNumber(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		system := store.System(t.Context())
		a, _ := storetest.Workspace(t, db)
		b, _ := storetest.Workspace(t, db)
		agentA, agentB := create(t, a, db, "A").ID, create(t, b, db, "B").ID
		_, err := agent.InboundNumber(system, db.Ent(), "+441632960961")
		requireCode(t, err, "phone_number_not_found")
		inA, err := agent.CreateNumber(a, db, agent.Number{Number: ptr("+441632960961")})
		require.NoError(t, err)
		inB, err := agent.CreateNumber(b, db, agent.Number{Number: ptr("+441632960961"), AgentID: &agentB})
		require.NoError(t, err)
		found := func() uuid.UUID {
			n, err := agent.InboundNumber(system, db.Ent(), "+4401632960961")
			require.NoError(t, err)
			return n.ID
		}
		require.Equal(t, inB.ID, found(), "a number without an agent takes no calls")
		_, err = agent.UpdateNumber(a, db, inA.ID, agent.Number{AgentID: &agentA}, nil)
		require.NoError(t, err)
		require.Equal(t, inA.ID, found())
		_, err = agent.UpdateNumber(a, db, inA.ID, agent.Number{Inbound: ptr(false)}, nil)
		require.NoError(t, err)
		require.Equal(t, inB.ID, found())
	})
}

// An agent that is deleted while numbers are given to it leaves no number that names it.
func TestANumberNeverNamesAnAgentThatIsGone(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		n, err := agent.CreateNumber(ctx, db, agent.Number{Number: ptr("+14155550142")})
		require.NoError(t, err)
		for range 20 {
			id := create(t, ctx, db, "Nora").ID
			var g errgroup.Group
			for range 4 {
				g.Go(func() error {
					_, err := agent.UpdateNumber(ctx, db, n.ID, agent.Number{AgentID: &id}, nil)
					if fault.Is(err, "agent_not_found") {
						return nil
					}
					return err
				})
			}
			g.Go(func() error { return agent.Delete(ctx, db, id) })
			require.NoError(t, g.Wait())
			got, err := agent.GetNumber(ctx, db.Ent(), n.ID)
			require.NoError(t, err)
			require.Nil(t, got.AgentID)
		}
	})
}
