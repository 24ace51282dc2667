// Package policy decides whether a number may be called now.
//
// There is one decision before every outbound call, made when it is placed and again at the moment of dialing, and kept
// with what it looked at. The order is fixed: do-not-call entries and a contact's own wish bind always; countries, kinds
// of numbers and caps bind on real lines; hours bind campaign calls, and single calls where the workspace says so
// (CONTRACT.md §2, Dial policy).
package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/donotcall"
	"github.com/callwright/callwright/internal/phone"
	"github.com/callwright/callwright/internal/store"
)

// Why a call is refused: the ended_reason of the record.
const (
	ReasonDoNotCall = "policy_do_not_call"
	ReasonCountry   = "policy_country"
	ReasonNumber    = "policy_number_type"
	ReasonPerNumber = "policy_calls_per_number"
	ReasonPerSecond = "policy_calls_per_second"
	ReasonHours     = "policy_quiet_hours"
)

// sentences say a reason to people.
var sentences = map[string]string{
	ReasonDoNotCall: "The number is on the do-not-call list, or the contact does not want to be called.",
	ReasonCountry:   "The workspace's policy does not allow calls to this country.",
	ReasonNumber:    "Premium, satellite, short and emergency numbers are never called.",
	ReasonPerNumber: "This number has been called as often as the workspace's policy allows in a day.",
	ReasonPerSecond: "The workspace started as many calls in this second as its policy allows.",
	ReasonHours:     "It is outside the hours at which this number may be called.",
}

// Request is what a decision looks at.
type Request struct {
	// Number to be called, E.164.
	To string
	// Status of the contact; empty without one.
	ContactStatus string
	// Campaign calls keep the hours always.
	Campaign bool
	// Hours of the campaign's schedule; nil: the workspace's.
	Hours *Hours
	// Zone of the campaign's schedule when it is fixed; empty: the called party's place.
	FixedZone string
	// Zones to assume, in this order, when the number's own does not tell: campaign's, agent's, workspace's.
	Fallback []string
	// Real line: countries, kinds and caps bind.
	Real bool
	// HomeNumbers are the workspace's and trunks' own numbers, whose countries are allowed by default.
	HomeNumbers []string
	// Calls that went to the number in the last 24 hours, and when the oldest of them did.
	CallsToNumber  int
	OldestToNumber time.Time
	// Calls started by the workspace in the last second.
	CallsThisSecond int
	Now             time.Time
}

// Decision says whether the call may be made.
type Decision struct {
	Allowed bool
	// Reason of a refusal, for ended_reason; empty when allowed.
	Reason string
	// The same for people.
	Message string
	// When a refused call would be allowed; nil: never.
	NextAllowed *time.Time
	// What was looked at.
	Inputs json.RawMessage
}

// Decide makes the decision. It reads the do-not-call list; the rest is in the request.
func Decide(ctx context.Context, c *ent.Client, rules Rules, r Request) (Decision, error) {
	listed, err := c.DoNotCall.Query().Where(donotcall.Phone(r.To)).Exist(ctx)
	if err != nil {
		return Decision{}, fmt.Errorf("read the do-not-call list: %w", err)
	}
	seen := inputs{
		To: r.To, Listed: listed, ContactStatus: r.ContactStatus, Region: phone.Region(r.To), Kind: phone.KindOf(r.To),
		Campaign: r.Campaign, Real: r.Real, At: r.Now,
	}
	reason, next, err := decide(rules, r, &seen)
	if err != nil {
		return Decision{}, err
	}
	raw, err := json.Marshal(seen)
	return Decision{Allowed: reason == "", Reason: reason, Message: sentences[reason], NextAllowed: next, Inputs: raw}, err
}

// inputs is the record of what a decision looked at.
type inputs struct {
	At            time.Time  `json:"at"`
	To            string     `json:"to"`
	Listed        bool       `json:"do_not_call_listed"`
	ContactStatus string     `json:"contact_status,omitempty"`
	Region        string     `json:"region,omitempty"`
	Kind          phone.Kind `json:"kind"`
	Campaign      bool       `json:"campaign"`
	Real          bool       `json:"real_line"`
	Countries     []string   `json:"countries,omitempty"`
	Zones         []string   `json:"zones,omitempty"`
	From          string     `json:"hours_from,omitempty"`
	To24          string     `json:"hours_to,omitempty"`
	ToNumber      int        `json:"calls_to_number,omitempty"`
	ThisSecond    int        `json:"calls_this_second,omitempty"`
}

func decide(rules Rules, r Request, seen *inputs) (reason string, next *time.Time, err error) {
	if seen.Listed || r.ContactStatus == "do_not_call" {
		return ReasonDoNotCall, nil, nil
	}
	if r.Real {
		if reason, next := decideLine(rules, r, seen); reason != "" {
			return reason, next, nil
		}
	}
	if !r.Campaign && !rules.QuietHours.SingleCalls {
		return "", nil, nil
	}
	return decideHours(rules, r, seen)
}

// decideLine are the rules of real lines: where money is at stake.
func decideLine(rules Rules, r Request, seen *inputs) (string, *time.Time) {
	if neverCalled(seen.Kind, seen.Region) {
		return ReasonNumber, nil
	}
	seen.Countries = rules.AllowedCountries
	if len(seen.Countries) == 0 {
		seen.Countries = regions(r.HomeNumbers)
	}
	if !slices.Contains(seen.Countries, seen.Region) {
		return ReasonCountry, nil
	}
	seen.ToNumber, seen.ThisSecond = r.CallsToNumber, r.CallsThisSecond
	if r.CallsToNumber >= rules.perNumber() {
		next := r.OldestToNumber.Add(24 * time.Hour)
		return ReasonPerNumber, &next
	}
	if r.CallsThisSecond >= rules.perSecond() {
		next := r.Now.Add(time.Second)
		return ReasonPerSecond, &next
	}
	return "", nil
}

// neverCalled are premium and shared-cost numbers, and those of no country (satellite telephones). Short and emergency
// numbers are not E.164 numbers and are refused before.
func neverCalled(kind phone.Kind, region string) bool {
	return kind == phone.KindPremium || kind == phone.KindSharedCost || kind == phone.KindPager || region == "001" || region == ""
}

func regions(numbers []string) []string {
	var all []string
	for _, n := range numbers {
		if region := phone.Region(n); region != "" && !slices.Contains(all, region) {
			all = append(all, region)
		}
	}
	return all
}

func decideHours(rules Rules, r Request, seen *inputs) (string, *time.Time, error) {
	hours, err := rules.hours()
	if err != nil {
		return "", nil, err
	}
	if r.Hours != nil {
		hours = *r.Hours
	}
	seen.Zones = ZonesOf(r.To, r.FixedZone, r.Fallback)
	seen.From, seen.To24 = clock(hours.From), clock(hours.To)
	zones := make([]*time.Location, 0, len(seen.Zones))
	for _, name := range seen.Zones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			return "", nil, fmt.Errorf("time zone %q: %w", name, err)
		}
		zones = append(zones, zone)
	}
	if hours.Open(r.Now, zones) {
		return "", nil, nil
	}
	if at, ok := hours.Next(r.Now, zones); ok {
		return ReasonHours, &at, nil
	}
	return ReasonHours, nil, nil
}

// ZonesOf are the zones whose hours a call keeps: the fixed one; else the number's when it is unique; else the first of
// the fallbacks; else all that the number may lie in, and every one of them must allow the call.
func ZonesOf(number, fixed string, fallback []string) []string {
	if fixed != "" {
		return []string{fixed}
	}
	own := phone.TimeZones(number)
	if len(own) == 1 {
		return own
	}
	for _, zone := range fallback {
		if zone != "" {
			return []string{zone}
		}
	}
	if len(own) > 0 {
		return own
	}
	return []string{"UTC"}
}

func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

// Record keeps a decision with its call.
func Record(ctx context.Context, tx *store.Tx, callID uuid.UUID, d Decision) error {
	return tx.DialDecision.Create().SetCallID(callID).SetAllowed(d.Allowed).SetReason(d.Reason).
		SetNillableNextAllowedAt(d.NextAllowed).SetInputs(d.Inputs).Exec(ctx)
}
