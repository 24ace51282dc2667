package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// What a telephone said is in the right channel of the recording, and what the agent said, the left one, is what the
// telephone heard: sample by sample, through the whole program. With and without encryption, and while strangers send to
// the ports of the call.
func TestSoundOfRealTelephones(t *testing.T) {
	if testing.Short() {
		t.Skip("calls telephones for ten seconds")
	}
	siptest.Program(t, "baresip")
	program := built(t)
	t.Run("plain, with strangers at the port", func(t *testing.T) { t.Parallel(); soundOfTelephone(t, program, 61000, "", "off") })
	t.Run("encrypted", func(t *testing.T) { t.Parallel(); soundOfTelephone(t, program, 61100, "srtp-mand", "required") })
}

func soundOfTelephone(t *testing.T, program string, ports int, phoneSRTP, trunkSRTP string) {
	// Noise, which is like nothing else, and then quiet: what is heard then is somebody else's.
	said := make([]int16, audio.Samples(time.Minute))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range audio.Samples(600 * time.Millisecond) {
		said[audio.Rate/2+i] = int16(random.IntN(12000) - 6000)
	}
	source := filepath.Join(t.TempDir(), "said.wav")
	require.NoError(t, os.WriteFile(source, siptest.WAV(said), 0o600))
	phone := siptest.StartBaresip(t, siptest.Telephone{Answer: true, Number: "+12125550199", Source: source, SRTP: phoneSRTP, Codecs: "pcmu"})

	x := &exchange{crashed: crashed{program: program, dir: t.TempDir()}, sip: siptest.FreePort(t)}
	x.args = []string{"--data-dir", x.dir, "--log-level", "warn"}
	x.found(t)
	x.at = start(t, program, append([]string{"serve", "--rate-limit", "0", "--carrier", "sip",
		"--sip-addr", fmt.Sprintf("127.0.0.1:%d", x.sip), "--rtp-ports", fmt.Sprintf("%d-%d", ports, ports+9),
		"--sip-trunk", fmt.Sprintf("sip://127.0.0.1:%d?name=peer&from=%%2B12125550100&srtp=%s", phone.Port, trunkSRTP)}, x.args...)...)
	x.agent = x.post(t, "/v1/agents", `{"name":"Nora","welcome_msg":"Hello, this is Nora of Harbor Dental. I would like to tell you about our new opening hours.","silence_timeout":60,"voicemail_behavior":"continue"}`)["data"].(map[string]any)["id"].(string)

	id := x.call(t, "+12125550199")
	phone.Wait(t, "CALL_ESTABLISHED", 0)
	x.until(t, id, "in-progress")
	time.Sleep(1500 * time.Millisecond)
	stolen, stop := intrude(t, ports)
	time.Sleep(5 * time.Second)
	stop()
	phone.Do(t, "hangup", "")
	require.Equal(t, "customer_hangup", x.until(t, id, "completed").EndedReason)
	agent, caller := x.channels(t, id)
	x.at.stop(t)

	require.Zero(t, stolen.Load(), "a stranger got sound of the call")
	where, alike := likeness(said[audio.Rate/2:][:4000], caller)
	require.Greater(t, alike, 0.98, "what the telephone said is in the right channel")
	require.Less(t, audio.Power(caller[where+6000:]), 100.0, "and nothing else")

	file, err := os.ReadFile(phone.Heard(t))
	require.NoError(t, err)
	wav, err := audio.ReadWAV(bytes.NewReader(file))
	require.NoError(t, err)
	loudest := 0
	for i := 0; i+3200 < len(agent); i += 800 {
		if audio.Power(agent[i:i+1600]) > audio.Power(agent[loudest:loudest+1600]) {
			loudest = i
		}
	}
	_, alike = likeness(agent[loudest:loudest+1600], wav.Channels[0])
	require.Greater(t, alike, 0.95, "what the agent said, the left channel, is what the telephone heard")
}

// likeness is how well a sound is contained in another, 1 for the same but for its volume, and where.
func likeness(needle, hay []int16) (where int, best float64) {
	own := audio.Power(needle) * float64(len(needle))
	for at := 0; at+len(needle) <= len(hay); at++ {
		var product, energy float64
		for i, s := range needle {
			h := float64(hay[at+i])
			product += float64(s) * h
			energy += h * h
		}
		if l := product / math.Sqrt(own*max(energy, 1)); l > best {
			where, best = at, l
		}
	}
	return where, best
}

// intrude sends a loud tone to all ports of a range from two addresses, as RTP of a made-up source, and counts what comes
// back.
func intrude(t *testing.T, ports int) (stolen *atomic.Int64, stop func()) {
	stolen = &atomic.Int64{}
	tone := audio.EncodeUlaw(nil, audio.Frames(audio.Beep())[5][:])
	over := make(chan struct{})
	for _, from := range []string{"127.0.0.1:0", "127.0.0.9:0"} {
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(from)))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			buffer := make([]byte, 1500)
			for {
				switch _, _, err := conn.ReadFromUDPAddrPort(buffer); {
				case errors.Is(err, net.ErrClosed):
					return
				case err == nil: // else an ICMP error of a port that nobody has
					stolen.Add(1)
				}
			}
		}()
		go func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				case <-tick.C:
				}
				packet := append([]byte{0x80, 0, byte(i >> 8), byte(i), 0, 0, byte(160 * i >> 8), byte(160 * i), 6, 6, 6, 6}, tone...)
				for port := ports; port < ports+10; port++ {
					_, _ = conn.WriteToUDPAddrPort(packet, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port)))
				}
			}
		}()
	}
	return stolen, func() { close(over) }
}
