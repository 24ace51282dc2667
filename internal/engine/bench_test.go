package engine_test

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/call"
	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
)

// timed is a carrier that notes when calls are dialed and how late each 20 ms of them comes.
type timed struct {
	carrier.Carrier
	mu     sync.Mutex
	dialed map[string]time.Time
	late   []time.Duration
}

func (c *timed) Dial(ctx context.Context, r carrier.Request, on func(carrier.Progress)) (carrier.Leg, error) {
	now := time.Now()
	c.mu.Lock()
	c.dialed[r.CallID] = now
	c.mu.Unlock()
	leg, err := c.Carrier.Dial(ctx, r, on)
	if err != nil {
		return nil, err
	}
	return &timedLeg{Leg: leg, media: &timedMedia{Media: leg.Media(), line: c}}, nil
}

func (c *timed) when(id uuid.UUID) (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.dialed[id.String()]
	return at, ok
}

type timedLeg struct {
	carrier.Leg
	media *timedMedia
}

func (l *timedLeg) Media() carrier.Media { return l.media }

type timedMedia struct {
	carrier.Media
	line *timed
}

// Tap measures each tick against the first one's clock.
func (m *timedMedia) Tap(f func(carrier.Tick)) {
	if f == nil {
		m.Media.Tap(nil)
		return
	}
	var zero time.Time
	late := make([]time.Duration, 0, 250)
	m.Media.Tap(func(k carrier.Tick) {
		if zero.IsZero() {
			zero = time.Now().Add(-k.At)
		}
		late = append(late, time.Since(zero)-k.At)
		if len(late) == cap(late) {
			m.line.mu.Lock()
			m.line.late = append(m.line.late, late...)
			m.line.mu.Unlock()
			late = late[:0]
		}
		f(k)
	})
}

func percentile(d []time.Duration, p float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[min(len(d)-1, int(float64(len(d))*p))]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// resident is the memory of this process.
func resident(t testing.TB) int {
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

func used(t testing.TB) time.Duration {
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Two hundred recorded conversations at once, at the speed of a telephone, with both sides' sound made and heard here.
// All must complete. Goals: 2 MB a call, 200 calls a core (5 ms of CPU for a second of a call).
func BenchmarkTwoHundredCallsAtOnce(b *testing.B) {
	const calls = 200
	r := newRig(b, storetest.SQLite(b), calls, agent.Settings{WelcomeMsg: ptr("Hello, this is Nora. How can I help you today?")})
	c := r.config(1)
	line := &timed{Carrier: c.Carrier, dialed: map[string]time.Time{}}
	c.Carrier = line
	r.run(c)
	for b.Loop() {
		debug.FreeOSMemory()
		memory, cpu := resident(b), used(b)
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
			}, 5*time.Minute, 500*time.Millisecond)
			got := r.get(id)
			require.Equal(b, string(call.StatusCompleted), got.Status, "%v", *got.EndedReason)
			require.NotNil(b, got.RecordingSize)
			seconds += *got.Duration
		}
		line.mu.Lock()
		b.ReportMetric(float64(peak-memory)/calls/1e6, "MB/call")
		b.ReportMetric(ms(used(b)-cpu)/float64(seconds), "CPU-ms/call-second")
		b.ReportMetric(float64(seconds)/calls, "s/call")
		b.ReportMetric(ms(percentile(line.late, 0.5)), "ms-late-p50")
		b.ReportMetric(ms(percentile(line.late, 0.99)), "ms-late-p99")
		line.mu.Unlock()
	}
	b.ReportMetric(0, "ns/op")
}

// From the request to the moment that the line is told to dial, with a slot free. Goal: p99 within 100 ms.
func BenchmarkFromRequestToDial(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, open(b), 100, agent.Settings{})
			c := r.config(20)
			line := &timed{Carrier: c.Carrier, dialed: map[string]time.Time{}}
			c.Carrier = line
			r.run(c)
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				id := r.place("+15005550002")
				for {
					if at, ok := line.when(id); ok {
						took = append(took, at.Sub(begin))
						break
					}
					require.Less(b, time.Since(begin), soon)
					time.Sleep(100 * time.Microsecond)
				}
			}
			b.ReportMetric(ms(percentile(took, 0.5)), "ms-p50")
			b.ReportMetric(ms(percentile(took, 0.99)), "ms-p99")
		})
	}
}
