package phone_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/callwright/callwright/internal/phone"
)

func TestParseTakesPossibleNumbersInE164(t *testing.T) {
	for text, want := range map[string]string{
		"+14155550142":   "+14155550142",
		"+15551234567":   "+15551234567", // possible, not valid
		"+15555550100":   "+15555550100",
		"+15005550006":   "+15005550006", // the sandbox
		"+447700900123":  "+447700900123",
		"+4915112345678": "+4915112345678",
		"+18005550100":   "+18005550100",
		// a national prefix behind the country code
		"+4401632960961": "+441632960961",
		"+390612345678":  "+390612345678", // Italian zeros belong to the number
		"+870773111632":  "+870773111632",
	} {
		got, err := phone.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		again, err := phone.Parse(got)
		require.NoError(t, err)
		require.Equal(t, got, again, "canonical numbers stay")
	}
}

func TestParseRefusesWhatIsNotE164(t *testing.T) {
	for text, want := range map[string]error{
		"":                       phone.ErrFormat,
		"+":                      phone.ErrFormat,
		"14155550142":            phone.ErrFormat,
		"0014155550142":          phone.ErrFormat,
		"+1 415 555 0142":        phone.ErrFormat,
		"+1 (555) 123-4567":      phone.ErrFormat,
		" +14155550142":          phone.ErrFormat,
		"+14155550142 ":          phone.ErrFormat,
		"+14155550142\n":         phone.ErrFormat,
		"+1-415-555-0142":        phone.ErrFormat,
		"+14155550142;ext=12":    phone.ErrFormat,
		"+14155550142x12":        phone.ErrFormat,
		"tel:+14155550142":       phone.ErrFormat,
		"+1415555CALL":           phone.ErrFormat,
		"++14155550142":          phone.ErrFormat,
		"+04155550142":           phone.ErrFormat,
		"＋14155550142":           phone.ErrFormat,
		"+１４１５５５５０１４２":           phone.ErrFormat,
		"+1415555014\x00":        phone.ErrFormat,
		"+1234567890123456":      phone.ErrFormat, // 16 digits
		strings.Repeat("+1", 99): phone.ErrFormat,
		"+1234567890":            phone.ErrImpossible,
		"+1555":                  phone.ErrImpossible,
		"+999123456789":          phone.ErrImpossible, // no such country code
		"+141555501420":          phone.ErrImpossible,
	} {
		_, err := phone.Parse(text)
		require.ErrorIs(t, err, want, "%q", text)
	}
}

func TestParseNeverPanicsAndGivesOnlyE164(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`\+[0-9]{0,18}`), rapid.String()).Draw(t, "text")
		got, err := phone.Parse(text)
		if err != nil {
			return
		}
		again, err := phone.Parse(got)
		require.NoError(t, err)
		require.Equal(t, got, again)
		require.True(t, phone.Same(text, got))
		phone.Region(got)
		phone.KindOf(got)
		phone.TimeZones(got)
	})
}

func TestNormalizeReadsWhatPeopleWrite(t *testing.T) {
	for text, want := range map[string]string{
		"(415) 555-0142":         "+14155550142",
		"415.555.0142":           "+14155550142",
		"1 415 555 0142":         "+14155550142",
		"+44 7700 900123":        "+447700900123",
		"+1 (415) 555-0142 x123": "+14155550142",
		" 415 555 0142 ":         "+14155550142",
	} {
		got, err := phone.Normalize(text, "US")
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "call me", "555", "+", "12345678901234567890"} {
		_, err := phone.Normalize(text, "US")
		require.Error(t, err, "%q", text)
	}
	got, err := phone.Normalize("0151 12345678", "DE")
	require.NoError(t, err)
	require.Equal(t, "+4915112345678", got)
}

func TestSameComparesLinesNotTexts(t *testing.T) {
	require.True(t, phone.Same("+4401632960961", "+441632960961"))
	require.True(t, phone.Same("anonymous", "anonymous"))
	require.False(t, phone.Same("+14155550142", "+14155550143"))
	require.False(t, phone.Same("+14155550142", "14155550142"))
	require.False(t, phone.Same("anonymous", "+14155550142"))
}

func TestRegionIsTheCountryOfTheNumber(t *testing.T) {
	for number, want := range map[string]string{
		"+14155550142": "US", "+16135550123": "CA", "+447700900123": "GB", "+4930123456": "DE",
		"+15551234567":  "US", // not assigned: the main country of +1
		"+870773111632": "001",
		"nonsense":      "", "+999123456789": "",
	} {
		require.Equal(t, want, phone.Region(number), number)
	}
}

func TestKindOfTellsWhatANumberIsFor(t *testing.T) {
	for number, want := range map[string]phone.Kind{
		"+14155550142": phone.KindFixedOrMobile, "+18002345678": phone.KindTollFree, "+19002345678": phone.KindPremium,
		"+4930123456": phone.KindFixed, "+4915112345678": phone.KindMobile, "+15551234567": phone.KindUnknown,
		"nonsense": phone.KindUnknown,
	} {
		require.Equal(t, want, phone.KindOf(number), number)
	}
}

func TestTimeZonesAreOneWhereTheNumberTells(t *testing.T) {
	require.Equal(t, []string{"America/Los_Angeles"}, phone.TimeZones("+14155550142"))
	require.Equal(t, []string{"Asia/Calcutta"}, phone.TimeZones("+919812345678"))
	require.Equal(t, []string{"Europe/Berlin"}, phone.TimeZones("+4930123456"))
	require.Greater(t, len(phone.TimeZones("+18002345678")), 10, "a toll-free number is in every zone of its plan")
	require.Empty(t, phone.TimeZones("nonsense"))

	zones := phone.TimeZones("+14155550142")
	zones[0] = "overwritten"
	require.Equal(t, []string{"America/Los_Angeles"}, phone.TimeZones("+14155550142"))
}
