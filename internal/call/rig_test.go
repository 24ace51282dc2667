package call_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	entcall "github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

const to = "+15551234567"

// rig is a workspace with an agent.
type rig struct {
	t         testing.TB
	db        *store.DB
	ctx       context.Context // the workspace's
	system    context.Context
	workspace uuid.UUID
	agent     uuid.UUID
}

func newRig(t testing.TB, db *store.DB) *rig {
	t.Helper()
	r := &rig{t: t, db: db, system: store.System(t.Context())}
	r.ctx, r.workspace = storetest.Workspace(t, db)
	r.agent = r.newAgent(agent.Settings{}).ID
	return r
}

func ptr[T any](v T) *T { return &v }

func (r *rig) newAgent(s agent.Settings) *ent.Agent {
	r.t.Helper()
	if s.Name == nil {
		s.Name = ptr("Nora")
	}
	a, err := agent.Create(r.ctx, r.db, s)
	require.NoError(r.t, err)
	return a
}

// plan replaces the workspace's plan: how many calls at once, and the windows.
func (r *rig) plan(concurrent int, windows string) {
	r.t.Helper()
	text := fmt.Sprintf(`{"limited":%t,"concurrent_calls":%d,"max_call_minutes":60,"windows":[%s]}`, windows != "", concurrent, windows)
	require.NoError(r.t, r.db.Ent().Workspace.UpdateOneID(r.workspace).SetPlan(json.RawMessage(text)).Exec(r.system))
}

func (r *rig) try(q call.Request) (*ent.Call, error) {
	if q.To == "" {
		q.To = to
	}
	if q.AgentID == uuid.Nil {
		q.AgentID = r.agent
	}
	return call.Place(r.ctx, r.db, q)
}

func (r *rig) place(q call.Request) *ent.Call {
	r.t.Helper()
	c, err := r.try(q)
	require.NoError(r.t, err)
	return c
}

func (r *rig) get(id uuid.UUID) *ent.Call {
	r.t.Helper()
	c, err := call.Get(r.ctx, r.db.Ent(), id)
	require.NoError(r.t, err)
	return c
}

func (r *rig) claim(owner string) *ent.Call {
	r.t.Helper()
	c, err := call.Claim(r.system, r.db, r.workspace, owner, time.Minute)
	require.NoError(r.t, err)
	return c
}

func (r *rig) finish(id uuid.UUID, o call.Outcome) {
	r.t.Helper()
	require.NoError(r.t, call.Finish(r.system, r.db, id, o))
}

// standing makes a call that stands where a test needs it.
func (r *rig) standing(s call.Status) *ent.Call {
	r.t.Helper()
	c := r.place(call.Request{})
	up := r.db.Ent().Call.UpdateOneID(c.ID).SetStatus(string(s))
	if s.Active() {
		up.SetInFlight(true).SetLeaseOwner("me").SetLeaseUntil(store.Now().Add(time.Minute)).SetDialedAt(store.Now())
	}
	if s == call.StatusInProgress {
		up.SetAnsweredAt(store.Now().Add(-10 * time.Second))
	}
	if s.Terminal() {
		up.SetEndedAt(store.Now())
	}
	c, err := up.Save(r.ctx)
	require.NoError(r.t, err)
	return c
}

func (r *rig) aged(id uuid.UUID, by time.Duration) {
	r.t.Helper()
	// created_at is immutable for rules; a test makes a call old by writing the row again
	old := r.get(id)
	require.NoError(r.t, r.db.Ent().Call.DeleteOneID(id).Exec(r.ctx))
	c := r.db.Ent().Call.Create().SetID(old.ID).SetDirection(old.Direction).SetStatus(old.Status).SetToNumber(old.ToNumber).
		SetFromNumber(old.FromNumber).SetNillableAgentID(old.AgentID).SetTest(old.Test).SetMetadata(old.Metadata).
		SetCreatedAt(old.CreatedAt.Add(-by)).SetQueuedAt(old.CreatedAt.Add(-by)).SetNillableDialedAt(old.DialedAt).SetNillableDuration(old.Duration).
		SetNillableAnsweredAt(old.AnsweredAt).SetInFlight(old.InFlight).SetNillableLeaseUntil(old.LeaseUntil).SetLeaseOwner(old.LeaseOwner)
	require.NoError(r.t, c.Exec(r.ctx))
}

// total is what a list says there is.
func (r *rig) total() int64 {
	r.t.Helper()
	n, err := r.db.Ent().CallCount.Query().Only(r.ctx)
	if ent.IsNotFound(err) {
		return 0
	}
	require.NoError(r.t, err)
	rows, err := r.db.Ent().Call.Query().Count(r.ctx)
	require.NoError(r.t, err)
	require.EqualValues(r.t, rows, n.Total, "the kept number is the number of rows")
	tests, err := r.db.Ent().Call.Query().Where(entcall.Test(true)).Count(r.ctx)
	require.NoError(r.t, err)
	require.EqualValues(r.t, tests, n.Test)
	return n.Total
}

func requireCode(t testing.TB, err error, code string) *fault.Error {
	t.Helper()
	require.Error(t, err)
	require.True(t, fault.Is(err, code), "%s wanted: %v", code, err)
	return fault.From(err)
}

func uuidOf(s string) uuid.UUID { return uuid.MustParse(s) }
