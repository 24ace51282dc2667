package campaign_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/campaign"
	"github.com/callwright/callwright/internal/contact"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// rig is a workspace with an agent and a campaign.
type rig struct {
	t         testing.TB
	db        *store.DB
	ctx       context.Context
	system    context.Context
	workspace uuid.UUID
	agent     uuid.UUID
	campaign  uuid.UUID
	// before is the number of rounds of the runner.
	runner *campaign.Runner
	sent   *outbox
}

// allDay is a schedule whose hours never close.
func allDay() *campaign.Schedule {
	s := &campaign.Schedule{}
	s.From, s.To, s.Timezone = "00:00", "24:00", "UTC"
	return s
}

func newRig(t testing.TB, db *store.DB, in campaign.Input) *rig {
	t.Helper()
	r := &rig{t: t, db: db, system: store.System(t.Context()), sent: &outbox{}}
	r.ctx, r.workspace = storetest.Workspace(t, db)
	a, err := agent.Create(r.ctx, db, agent.Settings{Name: new("Nora")})
	require.NoError(t, err)
	r.agent = a.ID
	in.AgentID = &a.ID
	if in.Name == nil {
		in.Name = new("Renewals")
	}
	if in.Schedule == nil {
		in.Schedule = allDay()
	}
	c, err := campaign.Create(r.ctx, db, in)
	require.NoError(t, err)
	require.Equal(t, "draft", c.Status)
	r.campaign = c.ID
	r.runner = campaign.NewRunner(campaign.Config{DB: db, Messenger: r.sent})
	return r
}

func (r *rig) start() {
	r.t.Helper()
	_, err := campaign.Start(r.ctx, r.db, r.campaign)
	require.NoError(r.t, err)
}

func (r *rig) enroll(q campaign.Request) campaign.Enrolled {
	r.t.Helper()
	out, err := campaign.Enroll(r.ctx, r.db, r.campaign, q)
	require.NoError(r.t, err)
	return out
}

func (r *rig) contact(phone string) uuid.UUID {
	r.t.Helper()
	c, _, err := contact.Create(r.ctx, r.db, contact.Input{Phone: &phone})
	require.NoError(r.t, err)
	return c.ID
}

func (r *rig) calls() []*ent.Call {
	r.t.Helper()
	p, err := call.List(r.ctx, r.db.Ent(), call.Query{
		Where: fmt.Sprintf(`{"campaign_id":%q}`, r.campaign), OrderBy: `{"created_at":"asc"}`, Take: new(200),
	})
	require.NoError(r.t, err)
	return p.Calls
}

func (r *rig) enrollments() []*ent.Enrollment {
	r.t.Helper()
	p, err := campaign.Enrollments(r.ctx, r.db.Ent(), r.campaign, "", 0, new(200))
	require.NoError(r.t, err)
	return p.Rows
}

func entry(phone string, vars map[string]string) campaign.Entry {
	return campaign.Entry{Input: contact.Input{Phone: &phone}, Variables: vars}
}

func code(err error) string { return fault.From(err).Code }

const (
	first  = "+15551230001"
	second = "+15551230002"
	third  = "+15551230003"
)

func TestAnEnrolledContactIsNotEnrolledAgain(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		_, err := contact.CreateField(r.ctx, db, contact.Field{Key: new("city"), Type: new("text")})
		require.NoError(t, err)
		r.start()
		known := r.contact(first)
		gone := uuid.New()
		out := r.enroll(campaign.Request{ContactIDs: []uuid.UUID{known, gone, known}, Contacts: []campaign.Entry{
			entry(second, map[string]string{"n": "1"}), entry(first, map[string]string{"n": "2"}),
		}})
		require.Len(t, out.Added, 2)
		require.Equal(t, known, out.Added[0])
		require.Equal(t, call.StatusScheduled, out.Status)
		require.Equal(t, []string{"contact_not_found", "already_enrolled"}, []string{out.Warnings[0].Code, out.Warnings[1].Code})
		require.Equal(t, []int{1, 2}, []int{out.Warnings[0].Index, out.Warnings[1].Index})
		require.Equal(t, map[string]string{"n": "2"}, r.enrollments()[0].Variables)
		calls := r.calls()
		require.Len(t, calls, 2)
		require.Equal(t, "scheduled", calls[0].Status)

		again := entry(second, map[string]string{"n": "3"})
		again.CustomFields = json.RawMessage(`{"city":"Bonn","zip":1}`)
		out = r.enroll(campaign.Request{Contacts: []campaign.Entry{again}})
		require.Empty(t, out.Added)
		require.Equal(t, []any{0, second, "zip", contact.UnknownKey}, []any{out.FieldWarnings[0].Index, out.FieldWarnings[0].Phone, out.FieldWarnings[0].Key, out.FieldWarnings[0].Code})
		require.Len(t, r.calls(), 2, "no second call is scheduled")
		require.Equal(t, map[string]string{"n": "3"}, r.enrollments()[1].Variables)
		row, err := contact.Get(r.ctx, db.Ent(), r.enrollments()[1].ContactID)
		require.NoError(t, err)
		require.JSONEq(t, `{"city":"Bonn"}`, string(row.CustomFields))
	})
}

func TestANumberThatIsKnownTakesItsNewestContact(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		r.contact(first)
		newest := r.contact(first)
		out := r.enroll(campaign.Request{Contacts: []campaign.Entry{entry(second, nil), entry(first, nil), entry(second, map[string]string{"a": "b"})}})
		require.Len(t, out.Added, 2)
		require.Equal(t, newest, out.Added[1])
		require.Equal(t, call.StatusNotScheduled, out.Status)
		require.Equal(t, campaign.Warning{
			Index: 1, Phone: first, Code: "multiple_matches", Message: out.Warnings[0].Message, ContactID: &newest, MatchCount: 2,
		}, out.Warnings[0])
		require.Equal(t, map[string]string{"a": "b"}, r.enrollments()[0].Variables, "the same phone later in the request refreshes")
		require.Equal(t, "not-scheduled", r.calls()[0].Status)

		out = r.enroll(campaign.Request{AllowDuplicatePhone: true, Contacts: []campaign.Entry{entry(first, nil), entry(first, nil)}})
		require.Len(t, out.Added, 2)
		require.NotContains(t, out.Added, newest)
		require.Empty(t, out.Warnings)
		require.Len(t, r.calls(), 4)
	})
}

// What is sent again refreshes who is there, all of it in a few statements, and touches nothing else.
func TestManyKnownContactsAreRefreshed(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		_, err := contact.CreateField(r.ctx, db, contact.Field{Key: new("n"), Type: new("number")})
		require.NoError(t, err)
		request := func(times int) (q campaign.Request) {
			for i := range 1500 {
				e := entry(fmt.Sprintf("+1555123%04d", i), map[string]string{"n": fmt.Sprint(i * times)})
				e.FirstName, e.CustomFields = new(fmt.Sprintf("Name %d", times)), json.RawMessage(fmt.Sprintf(`{"n":%d,"no":1}`, i*times))
				q.Contacts = append(q.Contacts, e)
			}
			return q
		}
		require.Len(t, r.enroll(request(1)).Added, 1500)
		before := db.Ent().Contact.Query().Order(ent.Asc("id")).AllX(r.ctx)
		out := r.enroll(request(2))
		require.Empty(t, out.Added)
		require.Len(t, out.FieldWarnings, 1500)
		after := db.Ent().Contact.Query().Order(ent.Asc("id")).AllX(r.ctx)
		require.Len(t, after, 1500)
		for i, c := range after {
			require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, 2*i), string(c.CustomFields))
			require.Equal(t, []any{"Name 1", before[i].ID, before[i].Phone, before[i].Status, before[i].CreatedAt},
				[]any{*c.FirstName, c.ID, c.Phone, c.Status, c.CreatedAt})
			require.Equal(t, i != 0, c.UpdatedAt.After(before[i].UpdatedAt), "who has the same values is left alone")
		}
		for i, e := range r.enrollments() {
			require.Equal(t, fmt.Sprint(2*i), e.Variables["n"])
		}
	})
}

func TestARequestIsEnrolledWholeOrNotAtAll(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		long := make([]campaign.Entry, 10_001)
		for i := range long {
			long[i] = entry(first, nil)
		}
		for want, q := range map[string]campaign.Request{
			"contact_ids or contacts":       {},
			"at most 10000":                 {Contacts: long},
			"contacts[1].phone":             {Contacts: []campaign.Entry{entry(first, nil), entry("12", nil)}},
			"contacts[0].phone is required": {Contacts: []campaign.Entry{entry("", nil)}},
		} {
			_, err := campaign.Enroll(r.ctx, db, r.campaign, q)
			require.Equal(t, "validation_failed", code(err), want)
			require.ErrorContains(t, err, want)
		}
		_, err := campaign.Enroll(r.ctx, db, r.campaign, campaign.Request{Contacts: []campaign.Entry{entry(first, nil), entry(second, map[string]string{"1": "x"})}})
		require.Equal(t, "invalid_variables", code(err))
		require.ErrorContains(t, err, "contacts[1]")
		_, err = campaign.Enroll(r.ctx, db, uuid.New(), campaign.Request{Contacts: []campaign.Entry{entry(first, nil)}})
		require.Equal(t, "campaign_not_found", code(err))
		p, err := contact.List(r.ctx, db.Ent(), contact.Query{})
		require.NoError(t, err)
		require.Zero(t, p.Total)
		_, err = campaign.Stop(r.ctx, db, r.campaign)
		require.NoError(t, err)
		_, err = campaign.Enroll(r.ctx, db, r.campaign, campaign.Request{Contacts: []campaign.Entry{entry(first, nil)}})
		require.Equal(t, "campaign_ended", code(err))
	})
}

func TestSixteenIdenticalRequestsAtOnceEnrollEachContactOnce(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db, campaign.Input{})
		r.start()
		q := campaign.Request{}
		for i := range 50 {
			q.Contacts = append(q.Contacts, entry(fmt.Sprintf("+1555123%04d", i), map[string]string{"i": fmt.Sprint(i)}))
		}
		var all sync.WaitGroup
		added := make([]int, 16)
		for i := range added {
			all.Go(func() {
				out, err := campaign.Enroll(r.ctx, db, r.campaign, q)
				if err == nil {
					added[i] = len(out.Added)
				}
			})
		}
		all.Wait()
		sum := 0
		for _, n := range added {
			sum += n
		}
		require.Equal(t, 50, sum)
		p, err := contact.List(r.ctx, db.Ent(), contact.Query{Take: new(200)})
		require.NoError(t, err)
		require.Equal(t, 50, p.Total)
		require.Len(t, r.enrollments(), 50)
		require.Len(t, r.calls(), 50)
	})
}
