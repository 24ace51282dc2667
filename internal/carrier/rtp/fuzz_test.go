package rtp_test

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
)

// FuzzStream feeds a live stream any packets from its own source, RTP, RTCP and events alike: it must neither fall over
// nor lose its clock.
func FuzzStream(f *testing.F) {
	sound := rtp.Packet{SSRC: 1, Seq: 65535, Timestamp: 4294967200, Payload: audio.EncodeUlaw(nil, friend)}.Bytes()
	event := rtp.Packet{SSRC: 1, Type: 101, Seq: 3, Timestamp: 7, Payload: []byte{5, 0x8a, 3, 32}}.Bytes()
	report := rtp.Report(1, 2, 3, 4, time.Unix(1e9, 0))
	for _, p := range [][]byte{sound, event, report, {}, {0x80}, append([]byte{0xbf, 0}, make([]byte, 90)...)} {
		f.Add(p, p)
		f.Add(sound, p)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		synctest.Test(t, func(t *testing.T) {
			ports, err := rtp.New(rtp.NewNetwork().Config(rtp.Config{From: 20000, To: 20001}))
			require.NoError(t, err)
			defer ports.Close()
			s, err := ports.Stream(rtp.Handlers{Event: func(e carrier.Event) {
				if e.Kind == carrier.EventDigits && len(e.Digits) != 1 {
					t.Errorf("%q is no key", e.Digits)
				}
			}})
			require.NoError(t, err)
			tick := s.Unpaced()
			require.NoError(t, s.Start(params()))
			to := netip.AddrPortFrom(here, s.Port())
			rtcp := netip.AddrPortFrom(here, s.Port()+1)
			frames := 0
			s.Media().Tap(func(k carrier.Tick) {
				frames++
				require.Equal(t, time.Duration(frames)*frame, k.At)
			})
			peer := s.Network(there)
			for i := range 30 {
				peer.Send(a, to, 0)
				peer.Send(b, to, 0)
				peer.Send(b, rtcp, 0)
				if i%10 == 9 { // and numbers that run on from them
					for k := range a {
						if k >= 2 && k < 8 {
							a[k] += byte(i)
						}
					}
				}
				tick()
			}
			require.Equal(t, 30, frames)
			stats := s.Stats()
			require.LessOrEqual(t, stats.Received, uint64(60))
			require.LessOrEqual(t, stats.Delay, 1100*time.Millisecond)
		})
	})
}

// FuzzParse: RTP and RTCP in any form.
func FuzzParse(f *testing.F) {
	f.Add(rtp.Packet{SSRC: 1, Payload: []byte{1, 2, 3}}.Bytes())
	f.Add(rtp.Report(1, 2, 3, 4, time.Unix(1e9, 0)))
	f.Add([]byte{0x81, 201, 0, 7, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := rtp.Parse(data); ok {
			require.LessOrEqual(t, len(p.Payload), len(data)-12)
		}
		rtp.ParseRTCP(data)
	})
}

// FuzzDigits: any event payloads at any times are single keys, and never more than events.
func FuzzDigits(f *testing.F) {
	f.Add([]byte{5, 10, 0, 160, 5, 0x8a, 3, 32}, uint32(160))
	f.Add([]byte{16, 0, 0, 0, 1, 1}, uint32(4294967295))
	f.Fuzz(func(t *testing.T, data []byte, step uint32) {
		press := rtp.Presses()
		for timestamp, at := uint32(0), time.Duration(0); len(data) > 0; timestamp, at = timestamp+step, at+frame {
			n := min(4, len(data))
			require.LessOrEqual(t, len(press(timestamp, data[:n], at)), 1)
			require.Empty(t, press(timestamp, data[:n], at), "a repetition")
			data = data[n:]
		}
	})
}

// FuzzKeys: a=crypto lines in any form.
func FuzzKeys(f *testing.F) {
	f.Add("AES_CM_128_HMAC_SHA1_80", rtp.NewKeys(rtp.AES128SHA1Tag80).Inline())
	f.Add("AES_CM_128_HMAC_SHA1_32", "inline:|2^31|1:1")
	f.Fuzz(func(t *testing.T, suite, params string) {
		k, err := rtp.ParseKeys(suite, params)
		if err != nil {
			require.ErrorIs(t, err, rtp.ErrKeys)
			return
		}
		same, err := rtp.ParseKeys(string(k.Suite), k.Inline())
		require.NoError(t, err)
		require.True(t, k.Equal(same))
	})
}
