package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/fault"
)

// Schedule is when a campaign may call; the zero value is 08:00–21:00 every day at the called party's place.
// CONTRACT.md §3, campaigns.
type Schedule struct {
	// Of mon, tue, wed, thu, fri, sat, sun. Defaults to all.
	Days []string `json:"days,omitempty"`
	// HH:MM. Default to 08:00 and 21:00.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// IANA zone, or "contact": the called party's place. Defaults to "contact".
	Timezone string `json:"timezone,omitempty"`
}

// AtContact is the Timezone that means the called party's place.
const AtContact = "contact"

var dayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} // as time.Weekday counts

// ParseSchedule reads a stored schedule; what it does not know is somebody else's.
func ParseSchedule(raw json.RawMessage) (s Schedule, err error) {
	if len(raw) == 0 {
		return s, nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

// Hours are the hours and days of the schedule. Errors: validation_failed.
func (s Schedule) Hours() (Hours, error) {
	h, err := ParseHours("schedule", s.From, s.To)
	if err != nil {
		return h, err
	}
	for _, name := range s.Days {
		i := slices.Index(dayNames, strings.ToLower(name))
		if i < 0 {
			return h, fault.Invalidf("schedule.days must hold mon, tue, wed, thu, fri, sat or sun")
		}
		h.Days[i] = true
	}
	return h, nil
}

// Check holds a schedule against its bounds. Errors: validation_failed.
func (s Schedule) Check() error {
	if _, err := s.Hours(); err != nil {
		return err
	}
	if s.Timezone == "" || s.Timezone == AtContact {
		return nil
	}
	if _, err := time.LoadLocation(s.Timezone); err != nil || s.Timezone == "Local" {
		return fault.Invalidf(`schedule.timezone must be "contact" or an IANA time zone such as Europe/Berlin`)
	}
	return nil
}

// Bind puts the schedule into a request. A schedule that says no hours of its own keeps the workspace's.
func (s Schedule) Bind(r *Request) error {
	if s.Timezone != AtContact {
		r.FixedZone = s.Timezone
	}
	if s.From == "" && s.To == "" && len(s.Days) == 0 {
		return nil
	}
	h, err := s.Hours()
	r.Hours = &h
	return err
}

// Opening is the earliest instant from r.Now on at which the hours allow the call; false when there is none.
func Opening(rules Rules, r Request) (time.Time, bool, error) {
	r.Campaign = true
	reason, next, err := decideHours(rules, r, &inputs{})
	switch {
	case err != nil || reason == "":
		return r.Now, true, err
	case next == nil:
		return time.Time{}, false, nil
	}
	return *next, true, nil
}
