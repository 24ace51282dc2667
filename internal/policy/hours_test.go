package policy_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/policy"
)

func zone(t *testing.T, name string) *time.Location {
	z, err := time.LoadLocation(name)
	require.NoError(t, err)
	return z
}

// Every minute of a year in zones with and without clock changes: Open is what a clock on the wall says, Next is the
// first open minute.
func TestAYearOfMinutesKeepsTheHours(t *testing.T) {
	h := policy.Hours{From: 8 * 60, To: 21 * 60, Days: [7]bool{time.Monday: true, time.Tuesday: true, time.Saturday: true}}
	for _, name := range []string{
		"UTC", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns",
	} {
		z := zone(t, name)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		firstOpen := time.Time{}
		for at := start.AddDate(1, 0, 0); at.After(start); at = at.Add(-time.Minute) {
			clock := at.In(z).Format("15:04")
			day := at.In(z).Weekday()
			want := clock >= "08:00" && clock < "21:00" && (day == time.Monday || day == time.Tuesday || day == time.Saturday)
			if h.Open(at, []*time.Location{z}) != want {
				t.Fatalf("%s %s: open is %v", name, at, !want)
			}
			if want {
				firstOpen = at
			}
			if at.Minute()%20 != 0 || firstOpen.IsZero() {
				continue
			}
			if next, ok := h.Next(at, []*time.Location{z}); !ok || !next.Equal(firstOpen) {
				t.Fatalf("%s: after %s the next open minute is %s, not %s", name, at, firstOpen, next)
			}
		}
	}
}

func TestAllZonesMustBeOpen(t *testing.T) {
	coasts := []*time.Location{zone(t, "America/New_York"), zone(t, "America/Los_Angeles")}
	h := policy.Default
	early := time.Date(2026, 11, 20, 13, 30, 0, 0, time.UTC) // 08:30 in New York, 05:30 in Los Angeles
	require.False(t, h.Open(early, coasts))
	next, ok := h.Next(early, coasts)
	require.True(t, ok)
	require.Equal(t, time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC), next)

	late := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC) // 22:00 in New York, 19:00 in Los Angeles
	next, ok = h.Next(late, coasts)
	require.True(t, ok)
	require.Equal(t, time.Date(2026, 11, 21, 16, 0, 0, 0, time.UTC), next)

	_, ok = h.Next(early, []*time.Location{zone(t, "Europe/London"), zone(t, "Asia/Shanghai"), zone(t, "America/Los_Angeles")})
	require.False(t, ok, "their days never meet")
	require.True(t, h.Open(early, nil))
}

func TestHoursAreRead(t *testing.T) {
	h, err := policy.ParseHours("quiet_hours", "", "")
	require.NoError(t, err)
	require.Equal(t, policy.Default, h)
	h, err = policy.ParseHours("quiet_hours", "00:00", "24:00")
	require.NoError(t, err)
	require.Equal(t, policy.Hours{From: 0, To: 1440}, h)
	for _, bad := range [][2]string{{"8:00", ""}, {"24:01", ""}, {"08:60", ""}, {"-1:00", ""}, {"noon", ""}, {"", "07:00"}, {"10:00", "10:00"}, {"+8:00", ""}} {
		_, err := policy.ParseHours("quiet_hours", bad[0], bad[1])
		require.ErrorContains(t, err, "quiet_hours", "%v", bad)
	}
}
