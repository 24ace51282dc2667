package bench_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/callwright/callwright/internal/bench"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Few calls for a short time: that everything is measured, not how fast this machine is.
func TestEverythingIsMeasured(t *testing.T) {
	figures, err := bench.Talks(t.Context(), bench.Config{Calls: 3, Span: 3 * time.Second})
	require.NoError(t, err)
	byName := map[string]bench.Figure{}
	for _, f := range figures {
		t.Logf("%-20s p50 %8.2f p99 %8.2f %s (%d)", f.Name, f.P50, f.P99, f.Unit, f.Samples)
		byName[f.Name] = f
	}
	for _, name := range []string{"bare_tick_lateness", "bare_cpu", "engine_share", "tick_lateness", "cpu", "cores", "memory", "voice_to_voice", "barge_in", "greeting", "ten_minutes"} {
		require.Positive(t, byName[name].Samples, name)
		require.GreaterOrEqual(t, byName[name].P50, 0.0, name)
	}
	// These are media time, so they are the same on any machine that is not wholly overloaded.
	require.Greater(t, byName["voice_to_voice"].P50, 400.0)
	require.Equal(t, byName["barge_in"].Samples, 3)
}

func TestMeasuringCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := bench.Talks(ctx, bench.Config{})
	require.ErrorIs(t, err, context.Canceled)
}

// Ten minutes of talk, the warning before the limit included, without waiting for them.
func TestATenMinuteCallEndsAtItsLimit(t *testing.T) {
	length, err := bench.Call(t.Context(), 10*time.Minute)
	require.NoError(t, err)
	require.InDelta(t, (10 * time.Minute).Seconds(), length.Seconds(), 0.1)
}

func BenchmarkTenMinuteCall(b *testing.B) {
	for b.Loop() {
		_, err := bench.Call(b.Context(), 10*time.Minute)
		require.NoError(b, err)
	}
}
