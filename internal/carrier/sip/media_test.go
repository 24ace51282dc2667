package sip_test

import (
	"bytes"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// tape keeps both directions of a call as a recorder gets them.
type tape struct {
	mu            sync.Mutex
	agent, caller []int16
}

func record(leg carrier.Leg) *tape {
	r := &tape{}
	leg.Media().Tap(func(k carrier.Tick) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.agent, r.caller = append(r.agent, k.Agent[:]...), append(r.caller, k.Caller[:]...)
	})
	return r
}

func (r *tape) both() (agent, caller []int16) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]int16(nil), r.agent...), append([]int16(nil), r.caller...)
}

// heardBy is what the telephone kept of a call that is over.
func heardBy(t *testing.T, phone *siptest.Baresip) []int16 {
	t.Helper()
	var pcm []int16
	// The file is complete a moment after the call's end.
	require.Eventually(t, func() bool {
		raw, err := os.ReadFile(phone.Heard(t))
		if err != nil {
			return false
		}
		wav, err := audio.ReadWAV(bytes.NewReader(raw))
		if err != nil || len(wav.Channels) == 0 || wav.Rate != audio.Rate {
			return false
		}
		pcm = wav.Channels[0]
		return len(pcm) > audio.Samples(2*time.Second)
	}, 5*time.Second, 50*time.Millisecond)
	return pcm
}

// longest is how long the longest run without a gap lasts in which pcm is a tone of hz: how much of a sound arrived whole.
func longest(pcm []int16, hz float64) (best time.Duration) {
	run := time.Duration(0)
	for len(pcm) >= 400 { // 50 ms
		got, level := tone(pcm[:400])
		if level > 500 && got > hz*0.93 && got < hz*1.07 {
			run += audio.Duration(400)
			best = max(best, run)
		} else {
			run = 0
		}
		pcm = pcm[400:]
	}
	return best
}

func TestSoundIsWholeOnBothSides(t *testing.T) {
	for name, how := range map[string]struct {
		phone siptest.Telephone
		trunk string
		codec string
	}{
		"µ-law": {siptest.Telephone{Answer: true, Codecs: "pcmu"}, "srtp=off", "PCMU"},
		"A-law": {siptest.Telephone{Answer: true, Codecs: "pcma"}, "srtp=off", "PCMA"},
		"SRTP":  {siptest.Telephone{Answer: true, SRTP: "srtp-mand"}, "srtp=required", "PCMU"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			phone := siptest.StartBaresip(t, how.phone)
			l := open(t, nil, trunkAt(phone.Port, "nat=yes", how.trunk))
			leg := l.must()
			require.Equal(t, how.codec, leg.Info().Codec)
			kept := record(leg)
			require.NoError(t, leg.Media().Enqueue(1, audio.Tone(1000, 0.5, 3*time.Second)))
			require.NoError(t, leg.Media().Mark(1, "end"))
			go func() {
				var f carrier.Frame
				for leg.Media().ReadFrame(&f) == nil {
				}
			}()
			event(t, leg, carrier.EventMark)
			time.Sleep(200 * time.Millisecond) // what is on the way
			require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
			phone.Wait(t, "CALL_CLOSED", 0)
			agent, caller := kept.both()
			require.Equal(t, len(agent), len(caller))
			require.GreaterOrEqual(t, longest(agent, 1000), 2800*time.Millisecond, "our own sound in the recording")
			require.GreaterOrEqual(t, longest(caller, 500), 2400*time.Millisecond, "the telephone in the recording")
			heard := heardBy(t, phone)
			require.GreaterOrEqual(t, longest(heard, 1000), 2400*time.Millisecond, "what the telephone heard")
		})
	}
}

// A stranger who sends to a live call's port, from another address, from the same one with another port, and with what it
// could have listened to, is neither heard nor sent to.
func TestStrangersOnALiveCall(t *testing.T) {
	phone := siptest.StartBaresip(t, siptest.Telephone{Answer: true})
	l := open(t, nil, trunkAt(phone.Port, "nat=yes"))
	leg := l.must()
	kept := record(leg)
	require.NoError(t, leg.Media().Enqueue(1, audio.Tone(1000, 0.5, 4*time.Second)))
	hz, _ := listen(t, leg, time.Second)
	require.InDelta(t, 500, hz, 60)

	port := l.SoundPort(leg)
	var stolen sync.Map
	evil := audio.EncodeUlaw(nil, audio.Tone(1900, 0.9, 20*time.Millisecond))
	for _, from := range []string{"127.0.0.1:0", "127.0.0.2:0", "127.0.0.3:0"} {
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(from)))
		require.NoError(t, err)
		defer conn.Close()
		go func() {
			buffer := make([]byte, 1500)
			for {
				if _, at, err := conn.ReadFromUDP(buffer); err != nil {
					return
				} else {
					stolen.Store(from, at)
				}
			}
		}()
		go func() {
			for i := range 500 {
				packet := append([]byte{0x80, 0, byte(i >> 8), byte(i), 0, 0, byte(160 * i >> 8), byte(160 * i), 6, 6, 6, 6}, evil...)
				if _, err := conn.WriteToUDPAddrPort(packet, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)); err != nil {
					return
				}
				time.Sleep(3 * time.Millisecond)
			}
		}()
	}
	hz, level := listen(t, leg, 2*time.Second)
	require.InDelta(t, 500, hz, 10, "only the telephone is heard")
	require.Greater(t, level, 500.0)
	require.GreaterOrEqual(t, l.SoundStats(leg).Strangers, uint64(1000))
	stolen.Range(func(who, _ any) bool { t.Errorf("%v got sound of the call", who); return true })
	require.NoError(t, leg.Hangup(t.Context(), carrier.CauseNormal))
	phone.Wait(t, "CALL_CLOSED", 0)
	_, caller := kept.both()
	require.Zero(t, longest(caller, 1900))
	require.GreaterOrEqual(t, longest(heardBy(t, phone), 1000), 2400*time.Millisecond, "and the telephone heard us all the time")
}

// A call whose other side never sends any sound ends after half a minute, with a BYE. It takes that long, so it runs only
// in soaks (CALLWRIGHT_SOAK).
func TestNoSoundEndsTheCall(t *testing.T) {
	if os.Getenv("CALLWRIGHT_SOAK") == "" {
		t.Skip("takes half a minute; set CALLWRIGHT_SOAK")
	}
	l, peer := called(t, "uas_answer", nil)
	leg := l.must()
	began := time.Now()
	go func() {
		var f carrier.Frame
		for leg.Media().ReadFrame(&f) == nil {
		}
	}()
	stalled := event(t, leg, carrier.EventMediaStalled)
	require.Equal(t, 5*time.Second, stalled.At)
	e := ended(t, leg)
	require.Equal(t, carrier.ReasonMediaTimeout, e.Reason)
	require.Equal(t, carrier.ClassIndeterminate, e.Class)
	require.InDelta(t, 30, time.Since(began).Seconds(), 2)
	peer.Wait()
}
