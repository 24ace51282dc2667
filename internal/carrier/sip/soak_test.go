package sip_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sip"
	"github.com/callwright/callwright/internal/carrier/sip/siptest"
)

// Many calls a second are answered, or placed, and hung up, without a single failure: fifty, which any machine can do, for
// four seconds, or two hundred for as many seconds as CALLWRIGHT_SOAK says. Thirty is the goal.
func TestManyCallsASecond(t *testing.T) {
	rate, seconds := 50, 4
	if n, err := strconv.Atoi(os.Getenv("CALLWRIGHT_SOAK")); err == nil {
		rate, seconds = 200, n
	}
	count := rate * seconds
	soak := []string{"-m", fmt.Sprint(count), "-l", "5000", "-timeout", fmt.Sprintf("%ds", seconds+40)}
	silent := func(c *sip.Config) { c.Log = slog.New(slog.DiscardHandler) }
	cost := func(t *testing.T, what string, before time.Duration) {
		t.Logf("%d calls %s, %.2f ms of CPU each", count, what, (cpu()-before).Seconds()*1000/float64(count))
	}
	t.Run("inbound", func(t *testing.T) {
		port := siptest.FreePort(t)
		l := open(t, silent, trunkAt(port))
		var answered, missed atomic.Int64 // missed: the BYE was quicker than we
		l.deciding(func(context.Context, carrier.Offer) carrier.Decision {
			<-l.offers // nobody looks at them
			return carrier.Decision{Missed: func(*carrier.Ended) { missed.Add(1) }, Run: func(_ context.Context, leg carrier.Leg) {
				answered.Add(1)
				for range leg.Events() {
				}
			}}
		})
		before := cpu()
		peer := siptest.StartSippAt(t, port, "testdata/uac_flood.xml", l.addr(), append(soak, "-r", fmt.Sprint(rate), "-s", "+15005550100")...)
		peer.Wait() // fails if one call failed
		require.EqualValues(t, count, answered.Load()+missed.Load())
		require.LessOrEqual(t, missed.Load(), int64(count/10))
		require.Eventually(t, func() bool { return l.Active() == 0 }, 10*time.Second, 10*time.Millisecond)
		cost(t, "in", before)
	})
	t.Run("outbound", func(t *testing.T) {
		peer := siptest.StartSipp(t, "testdata/uas_answer.xml", "", soak...)
		l := open(t, silent, trunkAt(peer.Port))
		before, began := cpu(), time.Now()
		var calls sync.WaitGroup
		for i := range count {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
			calls.Go(func() {
				leg, err := l.Dial(t.Context(), carrier.Request{CallID: fmt.Sprintf("soak-%d", i), From: "+15005550100", To: "+15005550199"}, nil)
				if err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
				_ = leg.Hangup(t.Context(), carrier.CauseNormal)
				for range leg.Events() {
				}
			})
		}
		calls.Wait()
		peer.Wait()
		require.Eventually(t, func() bool { return l.Active() == 0 }, 10*time.Second, 10*time.Millisecond)
		cost(t, "out", before)
	})
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
