package policy_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/policy"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// 08:30 in New York, 05:30 in Los Angeles, 13:30 in London.
var morning = time.Date(2026, 11, 20, 13, 30, 0, 0, time.UTC)

func decide(t *testing.T, ctx context.Context, db *store.DB, rules policy.Rules, r policy.Request) policy.Decision {
	t.Helper()
	if r.Now.IsZero() {
		r.Now = morning
	}
	d, err := policy.Decide(ctx, db.Ent(), rules, r)
	require.NoError(t, err)
	require.True(t, json.Valid(d.Inputs))
	require.Equal(t, d.Allowed, d.Reason == "")
	require.Equal(t, d.Allowed, d.Message == "")
	return d
}

func TestAWishNotToBeCalledBindsAlways(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		other, _ := storetest.Workspace(t, db)
		const number = "+442079460958"
		require.True(t, decide(t, ctx, db, policy.Rules{}, policy.Request{To: number}).Allowed)
		require.Equal(t, policy.ReasonDoNotCall, decide(t, ctx, db, policy.Rules{}, policy.Request{To: number, ContactStatus: "do_not_call"}).Reason)

		row, created, err := policy.Forbid(ctx, db, number, nil)
		require.NoError(t, err)
		require.True(t, created)
		again, created, err := policy.Forbid(ctx, db, number, nil)
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, row.ID, again.ID)

		d := decide(t, ctx, db, policy.Rules{}, policy.Request{To: number})
		require.Equal(t, policy.ReasonDoNotCall, d.Reason)
		require.Nil(t, d.NextAllowed, "never")
		require.True(t, decide(t, other, db, policy.Rules{}, policy.Request{To: number}).Allowed, "of another workspace")

		page, err := policy.Forbidden(ctx, db.Ent(), number, 0, nil)
		require.NoError(t, err)
		require.Equal(t, []int{1, 1}, []int{len(page.Rows), page.Total})
		require.Equal(t, "do_not_call_not_found", fault.From(policy.Permit(other, db, row.ID)).Code)
		require.NoError(t, policy.Permit(ctx, db, row.ID))
		require.True(t, decide(t, ctx, db, policy.Rules{}, policy.Request{To: number}).Allowed)
		_, _, err = policy.Forbid(ctx, db, "911", nil)
		require.Equal(t, "validation_failed", fault.From(err).Code)
	})
}

func TestRealLinesKeepCountriesKindsAndCaps(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		home := []string{"+14155550142"}
		for _, c := range []struct {
			name, to, reason string
			rules            policy.Rules
			change           func(*policy.Request)
		}{
			{"home country", "+12125550100", "", policy.Rules{}, nil},
			{"another country", "+442079460958", policy.ReasonCountry, policy.Rules{}, nil},
			{"an allowed country", "+442079460958", "", policy.Rules{AllowedCountries: []string{"GB"}}, nil},
			{"home country not among the allowed", "+12125550100", policy.ReasonCountry, policy.Rules{AllowedCountries: []string{"GB"}}, nil},
			{"premium", "+19005550100", policy.ReasonNumber, policy.Rules{}, nil},
			{"premium of an allowed country", "+449098790000", policy.ReasonNumber, policy.Rules{AllowedCountries: []string{"GB"}}, nil},
			{"satellite", "+881612345678", policy.ReasonNumber, policy.Rules{}, nil},
			{"five calls to the number", "+12125550100", policy.ReasonPerNumber, policy.Rules{}, func(r *policy.Request) {
				r.CallsToNumber, r.OldestToNumber = 5, morning.Add(-time.Hour)
			}},
			{"one call this second", "+12125550100", policy.ReasonPerSecond, policy.Rules{}, func(r *policy.Request) { r.CallsThisSecond = 1 }},
			{"caps raised", "+12125550100", "", policy.Rules{CallsPerNumberPerDay: 6, CallsPerSecond: 2}, func(r *policy.Request) {
				r.CallsToNumber, r.CallsThisSecond = 5, 1
			}},
		} {
			r := policy.Request{To: c.to, Real: true, HomeNumbers: home}
			if c.change != nil {
				c.change(&r)
			}
			require.Equal(t, c.reason, decide(t, ctx, db, c.rules, r).Reason, c.name)
			r.Real = false
			require.True(t, decide(t, ctx, db, c.rules, r).Allowed, "%s: the sandbox takes any number", c.name)
		}
		d := decide(t, ctx, db, policy.Rules{}, policy.Request{To: "+12125550100", Real: true, HomeNumbers: home, CallsToNumber: 9, OldestToNumber: morning.Add(-time.Hour)})
		require.Equal(t, morning.Add(23*time.Hour), *d.NextAllowed)
	})
}

func TestHoursBindCampaignsAndSingleCallsOnlyOnRequest(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		ctx, _ := storetest.Workspace(t, db)
		const london, losAngeles = "+442079460958", "+13105550100"
		require.True(t, decide(t, ctx, db, policy.Rules{}, policy.Request{To: losAngeles}).Allowed, "a single call")
		d := decide(t, ctx, db, policy.Rules{QuietHours: policy.QuietHours{SingleCalls: true}}, policy.Request{To: losAngeles})
		require.Equal(t, policy.ReasonHours, d.Reason)
		d = decide(t, ctx, db, policy.Rules{}, policy.Request{To: losAngeles, Campaign: true})
		require.Equal(t, policy.ReasonHours, d.Reason)
		require.Equal(t, time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC), *d.NextAllowed)
		require.True(t, decide(t, ctx, db, policy.Rules{}, policy.Request{To: london, Campaign: true}).Allowed)
		d = decide(t, ctx, db, policy.Rules{QuietHours: policy.QuietHours{From: "14:00"}}, policy.Request{To: london, Campaign: true})
		require.Equal(t, time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC), *d.NextAllowed)

		const tollFree = "+18005550100"
		d = decide(t, ctx, db, policy.Rules{}, policy.Request{To: tollFree, Campaign: true, Fallback: []string{"", "Asia/Tokyo", "UTC"}})
		require.Equal(t, policy.ReasonHours, d.Reason, "22:30 in Tokyo")
		require.True(t, decide(t, ctx, db, policy.Rules{}, policy.Request{To: losAngeles, Campaign: true, FixedZone: "Europe/London"}).Allowed)
		h := policy.Hours{From: 0, To: 1440}
		require.True(t, decide(t, ctx, db, policy.Rules{}, policy.Request{To: losAngeles, Campaign: true, Hours: &h}).Allowed)
	})
}

func TestRulesHoldTheirBounds(t *testing.T) {
	r, err := policy.Rules{AllowedCountries: []string{" us", "GB", "US"}}.Checked()
	require.NoError(t, err)
	require.Equal(t, []string{"US", "GB"}, r.AllowedCountries)
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	back, err := policy.ParseRules(raw)
	require.NoError(t, err)
	require.Equal(t, r, back)
	for _, bad := range []policy.Rules{
		{AllowedCountries: []string{"Germany"}}, {QuietHours: policy.QuietHours{From: "22:00"}}, {CallsPerSecond: 101},
		{CallsPerNumberPerDay: -1},
	} {
		_, err := bad.Checked()
		require.Equal(t, "validation_failed", fault.From(err).Code)
	}
}
