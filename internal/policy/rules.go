package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/phone"
)

// Rules are a workspace's own: when and where it may call. The zero value is the default.
type Rules struct {
	// ISO 3166 regions that may be called on real lines. Defaults to those of the workspace's and trunks' own numbers.
	AllowedCountries []string `json:"allowed_countries,omitempty"`
	// Hours in which campaigns call.
	QuietHours QuietHours `json:"quiet_hours"`
	// Calls to one number in 24 hours on real lines, 1 to 100. Defaults to 5.
	CallsPerNumberPerDay int `json:"calls_per_number_per_day,omitempty"`
	// Calls started in a second on real lines, 1 to 100. Defaults to 1.
	CallsPerSecond int `json:"calls_per_second,omitempty"`
}

// QuietHours bound the calls at the called party's place.
type QuietHours struct {
	// HH:MM. Defaults to 08:00.
	From string `json:"from,omitempty"`
	// HH:MM, later than From. Defaults to 21:00.
	To string `json:"to,omitempty"`
	// Bind single calls too.
	SingleCalls bool `json:"single_calls,omitempty"`
}

func (r Rules) hours() (Hours, error) {
	return ParseHours("policy.quiet_hours", r.QuietHours.From, r.QuietHours.To)
}

func (r Rules) perNumber() int { return defaultTo(r.CallsPerNumberPerDay, 5) }
func (r Rules) perSecond() int { return defaultTo(r.CallsPerSecond, 1) }

func defaultTo(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// Checked holds rules against their bounds and gives them their stored form. Errors: validation_failed.
func (r Rules) Checked() (Rules, error) {
	countries := make([]string, 0, len(r.AllowedCountries))
	for _, c := range r.AllowedCountries {
		c = strings.ToUpper(strings.TrimSpace(c))
		if !phone.IsRegion(c) {
			return r, fault.Invalidf("policy.allowed_countries must hold ISO 3166 regions such as US")
		}
		if !slices.Contains(countries, c) {
			countries = append(countries, c)
		}
	}
	r.AllowedCountries = countries
	if _, err := r.hours(); err != nil {
		return r, err
	}
	if r.CallsPerNumberPerDay < 0 || r.CallsPerNumberPerDay > 100 {
		return r, fault.Invalidf("policy.calls_per_number_per_day must be 1 to 100")
	}
	if r.CallsPerSecond < 0 || r.CallsPerSecond > 100 {
		return r, fault.Invalidf("policy.calls_per_second must be 1 to 100")
	}
	return r, nil
}

// ParseRules reads a workspace's stored rules; none are the default.
func ParseRules(raw json.RawMessage) (r Rules, err error) {
	if len(raw) == 0 {
		return r, nil
	}
	err = json.Unmarshal(raw, &r)
	return r, err
}
