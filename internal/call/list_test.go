package call_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// many writes n calls, of which each 1,000th is failed, without going through the rules. It returns their ids, oldest
// first.
func (r *rig) many(n int) []uuid.UUID {
	r.t.Helper()
	start := store.Now().Truncate(time.Millisecond).Add(-time.Duration(n) * time.Millisecond)
	out := make([]uuid.UUID, 0, n)
	for from := 0; from < n; from += 1000 {
		var batch []*ent.CallCreate
		for i := from; i < min(from+1000, n); i++ {
			id, status := store.NewID(), "completed"
			if i%1000 == 500 {
				status = "failed"
			}
			out = append(out, id)
			batch = append(batch, r.db.Ent().Call.Create().SetID(id).SetWorkspaceID(r.workspace).SetDirection("outbound").
				SetStatus(status).SetToNumber(fmt.Sprintf("+1500%07d", i)).SetFromNumber(call.SandboxNumber).SetAgentID(r.agent).
				SetDuration(i%100).SetCreatedAt(start.Add(time.Duration(i)*time.Millisecond)).
				SetQueuedAt(start.Add(time.Duration(i)*time.Millisecond)))
		}
		require.NoError(r.t, r.db.Ent().Call.CreateBulk(batch...).Exec(r.system))
	}
	require.NoError(r.t, r.db.Ent().CallCount.Create().SetWorkspaceID(r.workspace).SetTotal(int64(n)).Exec(r.system))
	return out
}

func TestPagesFollowSkipAndTake(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		all := r.many(2503)
		slices.Reverse(all)
		newRig(t, db).many(3)
		for _, c := range []struct {
			skip       int
			take       *int
			rows, page int
		}{
			{0, nil, 10, 1}, {5, nil, 10, 1}, {10, nil, 10, 2}, {15, ptr(10), 10, 2}, {0, ptr(1), 1, 1}, {7, ptr(3), 3, 3},
			{0, ptr(200), 200, 1}, {0, ptr(201), 200, 1}, {400, ptr(100_000), 200, 3}, {2490, ptr(10), 10, 250},
			{2500, ptr(10), 3, 251}, {999, ptr(5), 5, 200}, {1000, ptr(5), 5, 201}, {1001, ptr(200), 200, 6},
			{2503, nil, 0, 251}, {1_000_000_000, nil, 0, 100_000_001}, {1<<31 - 2, ptr(1), 0, 1<<31 - 1},
		} {
			p, err := call.List(r.ctx, db.Ent(), call.Query{Skip: c.skip, Take: c.take})
			require.NoError(t, err)
			require.Len(t, p.Calls, c.rows, "%+v", c)
			require.Equal(t, c.page, p.CurrentPage, "%+v", c)
			require.EqualValues(t, 2503, p.Total, "%+v", c)
			if c.rows > 0 {
				require.Equal(t, all[c.skip:c.skip+c.rows], ids(p.Calls...), "%+v", c)
			}
		}
		for _, q := range []call.Query{{Skip: -1}, {Skip: 1<<31 - 1}, {Take: ptr(0)}, {Take: ptr(-1)}} {
			_, err := call.List(r.ctx, db.Ent(), q)
			requireCode(t, err, "validation_failed")
		}
	})
}

func TestTheTotalOfAFilterCountsWhatMatches(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		r.many(2503)
		for _, c := range []struct {
			q     call.Query
			rows  int
			total int64
		}{
			{call.Query{Where: `{"status":"failed"}`}, 3, 3},
			{call.Query{Where: `{"status":"failed"}`, Take: ptr(2)}, 2, 3},
			{call.Query{Where: `{"status":"failed"}`, Take: ptr(2), Skip: 2}, 1, 3},
			{call.Query{Where: `{"status":"failed"}`, Skip: 3}, 0, 3},
			{call.Query{Where: `{"status":"completed"}`, Skip: 1000}, 10, 2500},
			{call.Query{Where: `{"status":"busy"}`}, 0, 0},
			{call.Query{Where: `{}`, Take: ptr(1)}, 1, 2503},
		} {
			p, err := call.List(r.ctx, db.Ent(), c.q)
			require.NoError(t, err)
			require.Len(t, p.Calls, c.rows, "%+v", c.q)
			require.Equal(t, c.total, p.Total, "%+v", c.q)
		}
		empty, err := call.List(newRig(t, db).ctx, db.Ent(), call.Query{})
		require.NoError(t, err)
		require.Zero(t, empty.Total)
		require.Equal(t, 1, empty.CurrentPage)
		deep, err := call.List(newRig(t, db).ctx, db.Ent(), call.Query{Skip: 5})
		require.NoError(t, err)
		require.Zero(t, deep.Total)
	})
}

func TestCallsAreOrderedAlikeOnBothDatabases(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		now := store.Now().Truncate(time.Millisecond)
		for i, c := range []struct {
			status, from string
			duration     *int
			ago          time.Duration
		}{
			{"queued", "b", nil, 0}, {"busy", "B", ptr(5), 0}, {"completed", "a", ptr(50), time.Hour}, {"busy", "ä", nil, 2 * time.Hour},
			{"in-progress", "_", ptr(0), 0},
		} {
			create := db.Ent().Call.Create().SetDirection("outbound").SetStatus(c.status).SetToNumber(fmt.Sprint("+1500555000", i+1)).
				SetFromNumber(c.from).SetNillableDuration(c.duration).SetCreatedAt(now.Add(-c.ago))
			require.NoError(t, create.Exec(r.ctx))
		}
		for order, want := range map[string]string{
			``:                      "52134",
			`{}`:                    "52134",
			`[]`:                    "52134",
			`{"created_at":"desc"}`: "52134",
			`{"created_at":"asc"}`:  "43125",
			`{"duration":"asc"}`:    "52341", // without a value last, the newest id first
			`{"duration":"desc"}`:   "32541",
			`{"to":"asc"}`:          "12345",
			`[{"to":"desc"}]`:       "54321",
			`{"from":"asc"}`:        "25314", // by code point: B _ a b ä
			`{"status":"asc"}`:      "42351",
			`[{"status":"desc"},{"created_at":"asc"}]`:                  "15342",
			` [{"status":"asc"}, {"from":"desc"}, {"duration":"asc"}] `: "42351",
			`[{"status":"asc"},{"created_at":"desc"}]`:                  "24351",
			`[{"created_at":"desc"},{"status":"asc"}]`:                  "25134",
		} {
			require.Equal(t, want, r.list(call.Query{OrderBy: order}), order)
		}
		for order, path := range map[string]string{
			`{"status":"asc","created_at":"desc"}`: "orderBy", `[{"to":"asc"},{"status":"asc","to":"desc"}]`: "orderBy[1]",
			`{"to":"asc","to":"desc"}`: "orderBy",
			`{"nope":"asc"}`:           "orderBy.nope", `{"workspace_id":"asc"}`: "orderBy.workspace_id", `{"to":"up"}`: "orderBy.to",
			`{"to":"ASC"}`: "orderBy.to", `{"to":1}`: "orderBy.to", `{"to":{"sort":"asc"}}`: "orderBy.to", `"to"`: "orderBy", `5`: "orderBy",
			`null x`: "orderBy", `[{"to":"asc"},{"to":"desc"}]`: "orderBy[1].to", `[["to"]]`: "orderBy[0]", `["to"]`: "orderBy[0]",
			`[{"to":"asc"},{"from":"asc"},{"status":"asc"},{"duration":"asc"}]`: "orderBy",
			`{`: "orderBy", `[{"to":"asc"}`: "orderBy", `{"to":"asc"} {}`: "orderBy", `{"id":"asc"}`: "orderBy.id",
			`{"to":"asc","` + strings.Repeat("x", 5000) + `":"asc"}`: "orderBy",
		} {
			_, err := call.List(r.ctx, db.Ent(), call.Query{OrderBy: order})
			require.Equal(t, path, requireCode(t, err, "validation_failed").Details["path"], order)
		}
	})
}

func TestFindSelectsAsTheToolServerDoes(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		other := newRig(t, db)
		other.place(call.Request{})
		a := r.place(call.Request{To: "+15005550001"})
		b := r.standing(call.StatusInProgress)
		r.finish(b.ID, call.Outcome{Status: call.StatusCompleted, Duration: ptr(30), AnsweredBy: "human"})
		test := r.place(call.Request{To: "+15005550003", Test: true})
		campaign := store.NewID()
		c := r.place(call.Request{To: "+15005550004", CampaignID: &campaign, ContactID: &campaign})
		today := a.CreatedAt.Format("2006-01-02")
		for name, s := range map[string]struct {
			q    call.Search
			want []*ent.Call
		}{
			"all but tests":     {call.Search{}, []*ent.Call{c, b, a}},
			"oldest first":      {call.Search{OldestFirst: true, IncludeTest: true}, []*ent.Call{a, b, test, c}},
			"an agent":          {call.Search{AgentID: &r.agent}, []*ent.Call{c, b, a}},
			"another's agent":   {call.Search{AgentID: &other.agent}, nil},
			"a campaign":        {call.Search{CampaignID: &campaign}, []*ent.Call{c}},
			"a contact":         {call.Search{ContactID: &campaign}, []*ent.Call{c}},
			"a status":          {call.Search{Status: "completed"}, []*ent.Call{b}},
			"a direction":       {call.Search{Direction: "inbound"}, nil},
			"who answered":      {call.Search{AnsweredBy: "human"}, []*ent.Call{b}},
			"a number":          {call.Search{ToNumber: "+15005550001"}, []*ent.Call{a}},
			"our number":        {call.Search{FromNumber: call.SandboxNumber}, []*ent.Call{c, b, a}},
			"a duration":        {call.Search{MinDuration: ptr(30), MaxDuration: ptr(30)}, []*ent.Call{b}},
			"at least nothing":  {call.Search{MinDuration: ptr(0)}, []*ent.Call{b}},
			"too long":          {call.Search{MinDuration: ptr(31)}, nil},
			"today":             {call.Search{From: today, To: today}, []*ent.Call{c, b, a}},
			"until this moment": {call.Search{To: a.CreatedAt.Format(time.RFC3339Nano), ToNumber: a.ToNumber}, []*ent.Call{a}},
			"from then on":      {call.Search{From: a.CreatedAt.Format(time.RFC3339Nano), ToNumber: a.ToNumber}, []*ent.Call{a}},
			"before":            {call.Search{To: "2020-01-01"}, nil},
		} {
			s.q.Limit = 20
			rows, total, err := call.Find(r.ctx, db.Ent(), s.q)
			require.NoError(t, err, name)
			require.Equal(t, ids(s.want...), ids(rows...), name)
			require.EqualValues(t, len(s.want), total, name)
		}
		rows, total, err := call.Find(r.ctx, db.Ent(), call.Search{Limit: 1, Offset: 1})
		require.NoError(t, err)
		require.Equal(t, ids(b), ids(rows...))
		require.EqualValues(t, 3, total)
		for _, q := range []call.Search{
			{Status: "done"}, {Direction: "x"}, {AnsweredBy: "x"}, {From: "x"}, {To: "2026-02-30"}, {ToNumber: "\x00"}, {FromNumber: "\xff"},
		} {
			_, _, err := call.Find(r.ctx, db.Ent(), q)
			requireCode(t, err, "validation_failed")
		}
	})
}
