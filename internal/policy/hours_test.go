package policy_test

import (
	"archive/zip"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
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

// Every minute of a year in every time zone that there is, with all their clock changes: Open is what a clock on the wall
// says, Next is the first open minute. Zones whose clocks show the same all year are looked at once.
func TestAYearOfMinutesKeepsTheHoursInAllZones(t *testing.T) {
	h := policy.Hours{From: 8 * 60, To: 21 * 60, Days: [7]bool{time.Monday: true, time.Tuesday: true, time.Saturday: true}}
	start, end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	names := zoneNames(t)
	require.Greater(t, len(names), 400)
	require.Subset(t, names, []string{"America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"})
	clocks := map[string]bool{}
	changes := 0
	for _, name := range names {
		z := zone(t, name)
		offsets := offsetsOf(z, start, end)
		if key := fmt.Sprint(offsets); clocks[key] {
			continue
		} else {
			clocks[key] = true
		}
		changes += len(offsets) - 1
		zones := []*time.Location{z}
		firstOpen := time.Time{}
		at := len(offsets) - 1
		for minute := end.Unix()/60 - 1; minute >= start.Unix()/60; minute-- {
			for minute*60 < offsets[at].from {
				at--
			}
			wall := minute*60 + offsets[at].seconds // a clock on the wall, without package time
			day, ofDay := time.Weekday((wall/86400+4)%7), wall%86400/60
			want := ofDay >= 8*60 && ofDay < 21*60 && (day == time.Monday || day == time.Tuesday || day == time.Saturday)
			now := time.Unix(minute*60, 0)
			if h.Open(now, zones) != want {
				t.Fatalf("%s %s: open is %v", name, now.UTC(), !want)
			}
			if want {
				firstOpen = now
			}
			if minute%61 != 0 || firstOpen.IsZero() {
				continue
			}
			if next, ok := h.Next(now, zones); !ok || !next.Equal(firstOpen) {
				t.Fatalf("%s: after %s the next open minute is %s, not %s", name, now.UTC(), next, firstOpen.UTC())
			}
		}
	}
	t.Logf("%d zones with %d different clocks, which changed %d times", len(names), len(clocks), changes)
	require.Greater(t, changes, 20)
}

// offset is what a clock is ahead of UTC from an instant on.
type offset struct{ from, seconds int64 }

// offsetsOf are the offsets of a zone in a span of time, by its own table of changes.
func offsetsOf(z *time.Location, start, end time.Time) (all []offset) {
	for at := start.In(z); at.Before(end); {
		_, seconds := at.Zone()
		all = append(all, offset{at.Unix(), int64(seconds)})
		_, next := at.ZoneBounds()
		if next.IsZero() {
			break
		}
		at = next
	}
	return all
}

// zoneNames lists the zones of the Go distribution, which the program carries.
func zoneNames(t *testing.T) (names []string) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	file, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	require.NoError(t, err)
	defer file.Close()
	for _, f := range file.File {
		if !strings.HasSuffix(f.Name, "/") && f.Name != "Factory" {
			names = append(names, f.Name)
		}
	}
	return names
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
