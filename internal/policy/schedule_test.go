package policy_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/policy"
)

func TestSchedulesAreHeldToTheirBounds(t *testing.T) {
	for _, good := range []policy.Schedule{
		{}, {Days: []string{"mon", "SUN"}}, {From: "00:00", To: "24:00"}, {Timezone: "contact"}, {Timezone: "Europe/Berlin"}, {Timezone: "UTC"},
	} {
		require.NoError(t, good.Check(), "%+v", good)
	}
	for message, bad := range map[string]policy.Schedule{
		"schedule.days must hold mon":      {Days: []string{"monday"}},
		"schedule.from must be a time":     {From: "8:00"},
		"schedule.to must be a time":       {To: "25:00"},
		"schedule.to must be later":        {From: "12:00", To: "12:00"},
		"schedule.timezone must be":        {Timezone: "Berlin"},
		`"contact" or an IANA`:             {Timezone: "Local"},
		"schedule.to must be later than s": {From: "22:00"}, // the end is 21:00 then
	} {
		err := bad.Check()
		require.Equal(t, "validation_failed", fault.From(err).Code, message)
		require.ErrorContains(t, err, message)
	}
}

func TestAStoredScheduleIsReadBack(t *testing.T) {
	s, err := policy.ParseSchedule(nil)
	require.NoError(t, err)
	require.Equal(t, policy.Schedule{}, s)
	s, err = policy.ParseSchedule(json.RawMessage(`{"days":["sat"],"from":"10:00","timezone":"contact","max_attempts":3}`))
	require.NoError(t, err)
	require.Equal(t, policy.Schedule{Days: []string{"sat"}, From: "10:00", Timezone: "contact"}, s)
	_, err = policy.ParseSchedule(json.RawMessage(`[]`))
	require.Error(t, err)
}

// What a schedule leaves open is the workspace's; a fixed zone stands over the called party's place.
func TestAScheduleBindsARequest(t *testing.T) {
	bound := func(s policy.Schedule) (r policy.Request) {
		require.NoError(t, s.Bind(&r))
		return r
	}
	require.Equal(t, policy.Request{}, bound(policy.Schedule{}))
	require.Equal(t, policy.Request{}, bound(policy.Schedule{Timezone: policy.AtContact}))
	require.Equal(t, "Asia/Tokyo", bound(policy.Schedule{Timezone: "Asia/Tokyo"}).FixedZone)
	require.Equal(t, &policy.Hours{From: 8 * 60, To: 21 * 60, Days: [7]bool{time.Sunday: true}}, bound(policy.Schedule{Days: []string{"sun"}}).Hours)
	require.Equal(t, &policy.Hours{From: 9 * 60, To: 21 * 60}, bound(policy.Schedule{From: "09:00"}).Hours)
	require.Error(t, policy.Schedule{To: "x"}.Bind(new(policy.Request)))

	// Friday the 20th of November 2026, 05:30 in Los Angeles.
	const losAngeles = "+13105550100"
	opening := func(s policy.Schedule, rules policy.Rules) time.Time {
		r := policy.Request{To: losAngeles, Now: morning}
		require.NoError(t, s.Bind(&r))
		at, ok, err := policy.Opening(rules, r)
		require.NoError(t, err)
		require.True(t, ok)
		return at.UTC()
	}
	late := policy.Rules{QuietHours: policy.QuietHours{From: "10:00"}}
	for want, got := range map[string]time.Time{
		"2026-11-20T16:00": opening(policy.Schedule{}, policy.Rules{}),
		"2026-11-20T18:00": opening(policy.Schedule{}, late),
		"2026-11-20T17:00": opening(policy.Schedule{From: "09:00"}, late),
		"2026-11-21T16:00": opening(policy.Schedule{Days: []string{"sat"}}, policy.Rules{}),
		"2026-11-20T13:30": opening(policy.Schedule{Timezone: "Europe/Berlin"}, policy.Rules{}),
		"2026-11-20T23:00": opening(policy.Schedule{Timezone: "Asia/Tokyo"}, policy.Rules{}),
	} {
		require.Equal(t, want, got.Format("2006-01-02T15:04"))
	}
}
