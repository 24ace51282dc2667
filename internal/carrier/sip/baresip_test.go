package sip_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

func TestBaresipIsCalledAndBothHear(t *testing.T) {
	t.Parallel()
	phone := siptest.StartBaresip(t, siptest.Telephone{Answer: true})
	l := open(t, nil, trunkAt(phone.Port))
	leg := l.must()
	require.Equal(t, "PCMU", leg.Info().Codec)
	require.NoError(t, leg.Media().Enqueue(1, audio.Tone(1000, 0.5, 3*time.Second)))
	_, _ = listen(t, leg, time.Second)
	hz, level := listen(t, leg, time.Second)
	require.InDelta(t, 500, hz, 20, "what baresip hums")
	require.Greater(t, level, 500.0)
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
	require.Equal(t, carrier.ReasonAgentHangup, ended(t, leg).Reason)
	phone.Wait(t, "CALL_CLOSED", 0)
}

func TestBaresipCalls(t *testing.T) {
	t.Parallel()
	phone := siptest.StartBaresip(t, siptest.Telephone{})
	l := open(t, nil, trunkAt(phone.Port, "nat=yes"))
	phone.Do(t, "dial", fmt.Sprintf("sip:+15005550100@%s", l.addr()))
	offer := next(t, l.offers)
	require.Equal(t, "+15005550100", offer.To)
	leg := next(t, l.legs)
	phone.Wait(t, "CALL_ESTABLISHED", 0)
	hz, _ := listen(t, leg, 2*time.Second)
	require.InDelta(t, 500, hz, 60)
	phone.Do(t, "hangup", "")
	require.Equal(t, carrier.ReasonHangup, endOf(t, leg).Reason)
}

func TestBaresipPressesKeysAndHearsOurs(t *testing.T) {
	t.Parallel()
	phone := siptest.StartBaresip(t, siptest.Telephone{Answer: true})
	l := open(t, nil, trunkAt(phone.Port, "nat=yes"))
	leg := l.must()
	_, _ = listen(t, leg, time.Second)
	phone.Do(t, "sndcode", "7")
	require.Equal(t, "7", event(t, leg, carrier.EventDigits).Digits)
	require.NoError(t, leg.SendDigits(t.Context(), "4#"))
	require.Equal(t, "4", phone.Wait(t, "CALL_DTMF_START", 0).Param)
	require.Equal(t, "#", phone.Wait(t, "CALL_DTMF_START", 1).Param)
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
}

func TestBaresipHolds(t *testing.T) {
	t.Parallel()
	phone := siptest.StartBaresip(t, siptest.Telephone{Answer: true})
	l := open(t, nil, trunkAt(phone.Port, "nat=yes"))
	leg := l.must()
	phone.Wait(t, "CALL_ESTABLISHED", 0)
	phone.Do(t, "hold", "")
	event(t, leg, carrier.EventHold)
	phone.Do(t, "resume", "")
	event(t, leg, carrier.EventResume)
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
}

func TestBaresipOverTCP(t *testing.T) {
	t.Parallel()
	phone := siptest.StartBaresip(t, siptest.Telephone{Answer: true, Transport: "tcp"})
	l := open(t, nil, trunkAt(phone.Port, "transport=tcp"))
	leg := l.must()
	hz, _ := listen(t, leg, 2*time.Second)
	require.InDelta(t, 500, hz, 60)
	phone.Do(t, "hangup", "")
	require.Equal(t, carrier.ReasonHangup, ended(t, leg).Reason)
}
