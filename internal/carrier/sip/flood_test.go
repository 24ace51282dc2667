package sip_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sip"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// A trunk that is no trunk any more, or mad, begins hundreds of calls at once: the first are decided about, the rest is
// not even looked at, and a moment later calls come through again.
func TestAFloodOfCallsIsBounded(t *testing.T) {
	port := siptest.FreePort(t)
	l := open(t, func(c *sip.Config) { c.InviteRate = 5 }, trunkAt(port))
	l.deciding(func(context.Context, carrier.Offer) carrier.Decision {
		return carrier.Decision{Refuse: carrier.CauseUnknown}
	})
	from, err := net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", port))
	require.NoError(t, err)
	defer from.Close()
	to, err := net.ResolveUDPAddr("udp4", l.addr())
	require.NoError(t, err)
	began := time.Now()
	for i := range 300 {
		_, err := from.WriteTo(fmt.Appendf(nil, "INVITE sip:+15005550100@%s SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:%d;branch=z9hG4bKflood%d\r\n"+
			"From: <sip:x@y>;tag=%[3]d\r\nTo: <sip:+15005550100@y>\r\nCall-ID: flood-%[3]d\r\nCSeq: 1 INVITE\r\nContact: <sip:x@127.0.0.1:%[2]d>\r\n"+
			"Max-Forwards: 70\r\nContent-Length: 0\r\n\r\n", l.addr(), port, i), to)
		require.NoError(t, err)
	}
	next(t, l.offers)
	require.Eventually(t, func() bool { return l.Active() == 0 }, 5*time.Second, 10*time.Millisecond)
	most := 10 + int(5*time.Since(began).Seconds()) + 1
	require.LessOrEqual(t, len(l.offers)+1, most)
	require.NoError(t, from.Close())
	require.Eventually(t, func() bool { // the bucket fills again
		before := len(l.offers)
		siptest.StartSippAt(t, port, "testdata/uac_404.xml", l.addr(), "-s", "+15005550100").Wait()
		return len(l.offers) > before
	}, 10*time.Second, 100*time.Millisecond)
}

func TestACallAboveTheCapacityIsToldToComeLater(t *testing.T) {
	t.Parallel()
	port := siptest.FreePort(t)
	l := open(t, func(c *sip.Config) { c.MaxCalls = 1 }, trunkAt(port, "name=near"), trunkAt(siptest.FreePort(t), "name=other"))
	busy := siptest.StartSipp(t, "testdata/uac_hungup.xml", l.addr(), "-s", "+15005550100")
	leg := next(t, l.legs)
	siptest.StartSippAt(t, port, "testdata/uac_503.xml", l.addr(), "-s", "+15005550100").Wait()
	_, e := l.dial(time.Second, nil)
	require.Equal(t, carrier.ClassServer, e.Class)
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
	busy.Wait()
}
