package sip_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier/sip"
)

func TestNumbersAsTrunksWriteThem(t *testing.T) {
	for _, c := range []struct{ text, home, want string }{
		{"+12125550100", "", "+12125550100"},
		{"%2B12125550100", "", "+12125550100"},
		{"12125550100", "", "+12125550100"},
		{"0012125550100", "+4930901820", "+12125550100"},
		{"2125550100", "+12125550199", "+12125550100"},
		{"(212) 555-0100", "+12125550199", "+12125550100"},
		{"12125550100", "+12125550199", "+12125550100"},
		{"030901820", "+49309018200", "+4930901820"},
		{"4930901820", "+49309018200", "+4930901820"},
		{"33142685300", "+4930901820", "+33142685300"},
		{"912345678", "+34911234567", "+34912345678"},
	} {
		got, ok := sip.ReadNumber(c.text, c.home)
		require.True(t, ok, c.text)
		require.Equal(t, c.want, got, "%s at %s", c.text, c.home)
	}
	for _, text := range []string{"", "alice", "911", "030901820", "anonymous", "1234567890123456", "+000000000"} {
		got, ok := sip.ReadNumber(text, "")
		require.False(t, ok, text)
		require.Equal(t, text, got)
	}
}
