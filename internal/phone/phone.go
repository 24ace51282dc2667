// Package phone reads telephone numbers: E.164 in and out, comparison, and what a number tells about its place.
//
// Numbers of the API are strictly E.164, a plus sign and digits: whoever sends "+1 (555) 123-4567" is told so instead of
// being guessed at. A number only has to be possible in its country's plan, not assigned: +15551234567 is accepted
// (CONTRACT.md §2, Calls). Numbers that people typed, with a country to assume, go through [Normalize].
package phone

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// Errors of Parse: each is the end of a sentence that starts with the field's name.
var (
	ErrFormat     = errors.New(`must be a phone number in E.164 form: "+", country code and number, digits only, such as +14155550142`)
	ErrImpossible = errors.New("is not a possible phone number: no country has numbers of this length")
)

// maxDigits is the longest number of E.164 after the plus sign.
const maxDigits = 15

// Parse reads an E.164 number and returns its canonical form, which may differ: a trunk prefix after the country code
// goes ("+4401632960961" is "+441632960961"). The error is ErrFormat or ErrImpossible.
func Parse(text string) (string, error) {
	if !isE164(text) {
		return "", ErrFormat
	}
	n, err := phonenumbers.Parse(text, "")
	if err != nil || !phonenumbers.IsPossibleNumber(n) {
		return "", ErrImpossible
	}
	return phonenumbers.Format(n, phonenumbers.E164), nil
}

func isE164(text string) bool {
	digits, plus := strings.CutPrefix(text, "+")
	return plus && digits != "" && len(digits) <= maxDigits && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}

// Normalize reads a number as people write it: with spaces, brackets and dashes, and without a country code when it is
// of region (ISO 3166, such as "US"). An extension is dropped.
func Normalize(text, region string) (string, error) {
	n, err := phonenumbers.Parse(text, region)
	if err != nil {
		return "", fmt.Errorf("is not a phone number: %w", err)
	}
	if !phonenumbers.IsPossibleNumber(n) {
		return "", ErrImpossible
	}
	return phonenumbers.Format(n, phonenumbers.E164), nil
}

// Same tells whether two E.164 numbers reach the same line, however they are written. Texts that are no numbers are the
// same only when they are equal.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := Parse(a)
	y, errY := Parse(b)
	return errX == nil && errY == nil && x == y
}

// Region is the country of an E.164 number (ISO 3166); "001" for numbers of no country, such as satellite telephones;
// empty when nobody can tell.
func Region(number string) string {
	n, err := phonenumbers.Parse(number, "")
	if err != nil {
		return ""
	}
	if region := phonenumbers.GetRegionCodeForNumber(n); region != "" {
		return region
	}
	// Possible but not assigned: the main country of its code.
	if region := phonenumbers.GetRegionCodeForCountryCode(int(n.GetCountryCode())); region != "ZZ" {
		return region
	}
	return ""
}

// Kind is what a number is used for.
type Kind string

// The kinds. KindUnknown is also the kind of numbers that are possible but not assigned.
const (
	KindUnknown       Kind = "unknown"
	KindFixed         Kind = "fixed"
	KindMobile        Kind = "mobile"
	KindFixedOrMobile Kind = "fixed_or_mobile"
	KindTollFree      Kind = "toll_free"
	KindPremium       Kind = "premium"
	KindSharedCost    Kind = "shared_cost"
	KindVoIP          Kind = "voip"
	KindPersonal      Kind = "personal"
	KindPager         Kind = "pager"
	KindCompany       Kind = "company"
	KindVoicemail     Kind = "voicemail"
)

var kinds = map[phonenumbers.PhoneNumberType]Kind{
	phonenumbers.FIXED_LINE: KindFixed, phonenumbers.MOBILE: KindMobile,
	phonenumbers.FIXED_LINE_OR_MOBILE: KindFixedOrMobile, phonenumbers.TOLL_FREE: KindTollFree,
	phonenumbers.PREMIUM_RATE: KindPremium, phonenumbers.SHARED_COST: KindSharedCost, phonenumbers.VOIP: KindVoIP,
	phonenumbers.PERSONAL_NUMBER: KindPersonal, phonenumbers.PAGER: KindPager, phonenumbers.UAN: KindCompany,
	phonenumbers.VOICEMAIL: KindVoicemail,
}

// KindOf is the kind of an E.164 number.
func KindOf(number string) Kind {
	n, err := phonenumbers.Parse(number, "")
	if err != nil {
		return KindUnknown
	}
	if k, ok := kinds[phonenumbers.GetNumberType(n)]; ok {
		return k
	}
	return KindUnknown
}

// TimeZones are the IANA zones in which the line of an E.164 number may be; none when nobody can tell. One zone is an
// answer; many mean that the number alone does not tell (mobile and toll-free numbers of large countries). Names may be
// old ones that IANA keeps as links, such as Asia/Calcutta.
func TimeZones(number string) []string {
	n, err := phonenumbers.Parse(number, "")
	if err != nil {
		return nil
	}
	zones, err := phonenumbers.GetTimezonesForNumber(n)
	if err != nil || len(zones) == 1 && zones[0] == phonenumbers.UNKNOWN_TIMEZONE {
		return nil
	}
	return slices.Clone(zones)
}

// IsRegion tells whether a text is a region that has telephone numbers (ISO 3166, upper case).
func IsRegion(text string) bool { return phonenumbers.GetSupportedRegions()[text] }
