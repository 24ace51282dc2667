package engine_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/audio/voice"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier/rtp"
	"github.com/callwright/callwright/internal/carrier/sip"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
	"github.com/callwright/callwright/internal/conversation"
	"github.com/callwright/callwright/internal/conversation/scripted"
	"github.com/callwright/callwright/internal/store/storetest"
)

// One hundred recorded conversations at once over SIP and RTP, as in production but for the providers: the other side
// answers, speaks and hangs up after half a minute. None may be lost. Beside it, in the same run, a bare UDP echo of as many
// packets. Goals: 99 % of the gaps below 40 ms on a busy machine, 2 MB a call, 5 ms of CPU for a second of a call.
func BenchmarkHundredCallsOverSIP(b *testing.B) {
	const calls = 100
	const talk = 30 * time.Second
	exchange := siptest.StartExchange(b, talk)
	rtp.Prefer()

	b.Run("bare echo", func(b *testing.B) {
		if b.N > 1 {
			return
		}
		to := make([]netip.AddrPort, calls)
		for i := range to {
			to[i] = echo(b)
		}
		const d = 10 * time.Second
		cpu := used(b)
		f := exchange.Echo(b, to, d)
		reportGaps(b, f)
		b.ReportMetric(ms(used(b)-cpu)/(calls*d.Seconds()), "CPU-ms/call-second")
		b.ReportMetric(1000*ms(used(b)-cpu)/float64(f.Sent), "µs/pair")
	})

	b.Run("calls", func(b *testing.B) {
		if b.N > 1 {
			return
		}
		r := newRig(b, storetest.SQLite(b), calls, agent.Settings{WelcomeMsg: ptr("Hello, this is Nora. How can I help you today?")})
		trunk, err := sip.ParseTrunk(fmt.Sprintf("sip://127.0.0.1:%d?from=%%2B15005550100", exchange.Port))
		require.NoError(b, err)
		line, err := sip.New(sip.Config{Addr: "127.0.0.1:0", RTPFrom: 40000, RTPTo: 50000, Trunks: []sip.Trunk{trunk}, Log: quiet})
		require.NoError(b, err)
		require.NoError(b, line.Listen(b.Context()))
		ctx, stop := context.WithCancel(context.Background())
		over := make(chan error, 1)
		go func() { over <- line.Run(ctx) }()
		b.Cleanup(func() { stop(); <-over })
		c := r.config(1)
		c.Carrier = line
		c.Speech = conversation.Cascade{
			Ears: scripted.Ears{}, Brain: talker{}, Voice: scripted.Voice{Studio: voice.New(voice.Config{Placeholder: true, Log: quiet})},
		}
		r.run(c)

		debug.FreeOSMemory()
		memory, cpu, began := resident(b), used(b), time.Now()
		ids := make([]uuid.UUID, calls)
		for i := range ids {
			ids[i] = r.place("+15005550006")
		}
		peak := 0
		var seconds int
		for _, id := range ids {
			require.Eventually(b, func() bool {
				peak = max(peak, resident(b))
				return call.Status(r.get(id).Status).Terminal()
			}, talk+time.Minute, 500*time.Millisecond)
		}
		took, cost := time.Since(began), used(b)-cpu
		for _, id := range ids {
			got := r.get(id)
			require.Equal(b, string(call.StatusCompleted), got.Status, "%v", *got.EndedReason)
			require.Equal(b, "customer_hangup", *got.EndedReason)
			require.NotNil(b, got.RecordingSize)
			require.InDelta(b, talk.Seconds(), float64(*got.Duration), 3)
			require.InDelta(b, talk.Seconds()*32000, float64(*got.RecordingSize), 3*32000, "the recording is as long as the call")
			seconds += *got.Duration
		}
		f := exchange.Figures(b)
		require.Equal(b, calls, f.Calls)
		require.Zero(b, f.Hungup)
		reportGaps(b, f)
		b.ReportMetric(ms(cost)/float64(seconds), "CPU-ms/call-second")
		b.ReportMetric(1000*ms(cost)/float64(f.Sent), "µs/pair")
		b.ReportMetric(float64(peak-memory)/calls/1e6, "MB/call")
		b.ReportMetric(took.Seconds(), "s")
	})
}

// talker never comes to an end.
type talker struct{}

func (talker) Think(_ context.Context, _ conversation.Thought, emit func(conversation.Part) error) error {
	return emit(conversation.Part{Sentence: "I see. Please tell me more about that, I have all the time in the world."})
}

func reportGaps(b *testing.B, f siptest.Figures) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(f.P50, "ms-gap-p50")
	b.ReportMetric(f.P99, "ms-gap-p99")
	b.ReportMetric(f.P999, "ms-gap-p999")
	b.ReportMetric(f.Max, "ms-gap-max")
	b.ReportMetric(float64(f.Received)/float64(max(f.Sent, 1)), "received/sent")
}

// echo sends back what comes until the benchmark's end.
func echo(b *testing.B) netip.AddrPort {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteToUDPAddrPort(buffer[:n], from)
		}
	}()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort()
}
