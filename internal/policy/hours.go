package policy

import (
	"strconv"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/fault"
)

// Hours are the times of day and days of the week at which somebody may be called, at that person's place.
type Hours struct {
	// From is the first minute of the day, To the first one after the end; 0 ≤ From < To ≤ 1440.
	From, To int
	// Days that count; none of them set means every day.
	Days [7]bool
}

// Default are the hours of campaigns: 08:00–21:00 every day. CONTRACT.md §2, Dial policy.
var Default = Hours{From: 8 * 60, To: 21 * 60}

// ParseHours reads "HH:MM" times; empty ones are those of [Default]. "24:00" is the end of the day. field names the
// setting in the message of a validation_failed.
func ParseHours(field, from, to string) (Hours, error) {
	h := Default
	for _, part := range []struct {
		name, text string
		into       *int
	}{{"from", from, &h.From}, {"to", to, &h.To}} {
		if part.text == "" {
			continue
		}
		m, ok := minuteOfDay(part.text)
		if !ok {
			return Hours{}, fault.Invalidf("%s.%s must be a time of day such as 08:00", field, part.name)
		}
		*part.into = m
	}
	if h.From >= h.To {
		return Hours{}, fault.Invalidf("%s.to must be later than %s.from (%02d:%02d)", field, field, h.From/60, h.From%60)
	}
	return h, nil
}

func minuteOfDay(text string) (int, bool) {
	hours, minutes, _ := strings.Cut(text, ":")
	hour, err1 := strconv.ParseUint(hours, 10, 8)
	minute, err2 := strconv.ParseUint(minutes, 10, 8)
	m := int(hour*60 + minute)
	return m, len(text) == 5 && len(hours) == 2 && err1 == nil && err2 == nil && minute < 60 && m <= 24*60
}

// Open reports whether the instant lies within the hours in every one of the zones.
func (h Hours) Open(t time.Time, zones []*time.Location) bool {
	for _, z := range zones {
		if !h.openIn(t.In(z)) {
			return false
		}
	}
	return true
}

func (h Hours) openIn(local time.Time) bool {
	m := local.Hour()*60 + local.Minute()
	return m >= h.From && m < h.To && h.dayCounts(local.Weekday())
}

func (h Hours) dayCounts(d time.Weekday) bool { return h.Days == [7]bool{} || h.Days[d] }

// Next is the earliest instant from t on at which all zones are open. It reports false when there is none: zones so far
// apart that their hours never meet.
func (h Hours) Next(t time.Time, zones []*time.Location) (time.Time, bool) {
	// Each round moves on to the latest opening of a closed zone. Within nine days every day of the week has come up, in
	// weeks with a clock change too.
	for end := t.Add(9 * 24 * time.Hour); t.Before(end); {
		next := t
		for _, z := range zones {
			if local := t.In(z); !h.openIn(local) {
				if opens := h.opens(local); opens.After(next) {
					next = opens
				}
			}
		}
		if next.Equal(t) {
			return t, true
		}
		t = next
	}
	return time.Time{}, false
}

// opens is the next opening after a closed local time. Where a clock change skips the minute, Date gives the instant the
// clock would have shown it at, and the walk to a minute that is really open goes on from there.
func (h Hours) opens(local time.Time) time.Time {
	y, m, d := local.Date()
	for day := 0; ; day++ {
		at := time.Date(y, m, d+day, h.From/60, h.From%60, 0, 0, local.Location())
		if at.After(local) && h.dayCounts(at.Weekday()) {
			for !h.openIn(at) {
				at = at.Add(time.Minute)
			}
			return at.UTC()
		}
	}
}
