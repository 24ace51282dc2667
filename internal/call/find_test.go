package call_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// What list_calls finds is what its table says, any filters together: held against a few lines that look at every call.
func TestCallsAreFoundByExactlyWhatIsAsked(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		r := newRig(t, db)
		newRig(t, db).many(5) // somebody else's
		midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		agents, contacts, campaigns := []uuid.UUID{r.agent, uuid.New()}, []uuid.UUID{uuid.New(), uuid.New()}, []uuid.UUID{uuid.New(), uuid.New()}
		statuses, answerers := []string{"completed", "busy", "queued"}, []string{"human", "voicemail", "ivr"}
		var all []*ent.Call
		for i := range 200 {
			c := r.db.Ent().Call.Create().SetWorkspaceID(r.workspace).SetDirection([]string{"outbound", "inbound"}[i%2]).
				SetStatus(statuses[i%3]).SetToNumber(fmt.Sprintf("+1500555000%d", i%4)).SetFromNumber(fmt.Sprintf("+1600%d", i%5)).
				SetTest(i%7 == 0).SetAgentID(agents[i/2%2]).
				SetCreatedAt(midnight.Add(time.Duration(i/2-50) * 30 * time.Minute).Add(time.Duration(i%3) * time.Microsecond))
			if i%3 != 0 {
				c.SetContactID(contacts[i%2]).SetDuration(i % 30)
			}
			if i%5 < 3 {
				c.SetCampaignID(campaigns[i/3%2]).SetAnsweredBy(answerers[i%3])
			}
			all = append(all, c.SaveX(r.ctx))
		}
		require.NoError(t, db.Ent().CallCount.Create().SetWorkspaceID(r.workspace).SetTotal(200).SetTest(29).Exec(r.system))
		slices.SortFunc(all, func(a, b *ent.Call) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID.String(), a.ID.String()))
		})
		times := []string{"", "2026-02-28", "2026-03-01", "2026-03-02", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00.000001Z",
			"2026-03-01T05:30:00+05:30", "2026-02-28T23:59:59.999999Z", "0001-01-01", "9999-12-31", "2026-02-28T12:30Z"}
		rapid.Check(t, func(t *rapid.T) {
			id := func(name string, of []uuid.UUID) *uuid.UUID {
				if rapid.IntRange(0, 2).Draw(t, name) > 0 {
					return nil
				}
				return ptr(rapid.SampledFrom(append(of, uuid.Nil)).Draw(t, "which"))
			}
			text := func(name string, of ...string) string {
				if rapid.IntRange(0, 2).Draw(t, name) > 0 {
					return ""
				}
				return rapid.SampledFrom(of).Draw(t, "which")
			}
			seconds := func(name string) *int {
				if rapid.IntRange(0, 2).Draw(t, name) > 0 {
					return nil
				}
				return ptr(rapid.IntRange(0, 30).Draw(t, "seconds"))
			}
			q := call.Search{
				AgentID: id("agent", agents), ContactID: id("contact", contacts), CampaignID: id("campaign", campaigns),
				Status: text("status", append(statuses, "skipped")...), Direction: text("direction", "inbound", "outbound"),
				AnsweredBy: text("answered by", answerers...), From: rapid.SampledFrom(times).Draw(t, "from"),
				To: rapid.SampledFrom(times).Draw(t, "to"), ToNumber: text("to number", "+15005550001", "+1500555000", "%"),
				FromNumber: text("from number", "+16001", "+1600_"), MinDuration: seconds("min"), MaxDuration: seconds("max"),
				IncludeTest: rapid.Bool().Draw(t, "tests too"), OldestFirst: rapid.Bool().Draw(t, "oldest first"),
				Offset: rapid.SampledFrom([]int{0, 1, 3, 50, 1000, 1_000_000}).Draw(t, "offset"), Limit: rapid.SampledFrom([]int{1, 2, 20, 200}).Draw(t, "limit"),
			}
			var want []uuid.UUID
			for _, c := range all {
				if matches(c, q) {
					want = append(want, c.ID)
				}
			}
			if q.OldestFirst {
				slices.Reverse(want)
			}
			rows, total, err := call.Find(r.ctx, db.Ent(), q)
			require.NoError(t, err)
			require.EqualValues(t, len(want), total, "%+v", q)
			page := want[min(q.Offset, len(want)):min(q.Offset+q.Limit, len(want))]
			require.Equal(t, len(page), len(rows), "%+v", q)
			for i, c := range rows {
				require.Equal(t, page[i], c.ID)
			}
		})
	})
}

// matches says in the specification's words whether a call is meant.
func matches(c *ent.Call, q call.Search) bool {
	same := func(want, has *uuid.UUID) bool { return want == nil || has != nil && *has == *want }
	when := func(text string, last bool) time.Time {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", time.DateOnly} {
			if at, err := time.Parse(layout, text); err == nil {
				if last && layout == time.DateOnly {
					at = at.AddDate(0, 0, 1).Add(-time.Microsecond)
				}
				return at
			}
		}
		panic(text)
	}
	answerer := ""
	if c.AnsweredBy != nil {
		answerer = *c.AnsweredBy
	}
	return same(q.AgentID, c.AgentID) && same(q.ContactID, c.ContactID) && same(q.CampaignID, c.CampaignID) &&
		(q.Status == "" || q.Status == c.Status) && (q.Direction == "" || q.Direction == c.Direction) &&
		(q.AnsweredBy == "" || q.AnsweredBy == answerer) &&
		(q.ToNumber == "" || q.ToNumber == c.ToNumber) && (q.FromNumber == "" || q.FromNumber == c.FromNumber) &&
		(q.MinDuration == nil || c.Duration != nil && *c.Duration >= *q.MinDuration) &&
		(q.MaxDuration == nil || c.Duration != nil && *c.Duration <= *q.MaxDuration) &&
		(q.From == "" || !c.CreatedAt.Before(when(q.From, false))) && (q.To == "" || !c.CreatedAt.After(when(q.To, true))) &&
		(q.IncludeTest || !c.Test)
}
