package webhook_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
	"github.com/callwright/callwright/internal/webhook"
)

// BenchmarkDeliveries makes deliveries to a receiver on this machine, beside a bare client that posts the same bytes one
// after the other: the price of rows, claims and records.
func BenchmarkDeliveries(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		b.Run(name, func(b *testing.B) { deliver(b, open(b)) })
	}
	b.Run("bare", func(b *testing.B) {
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		defer receiver.Close()
		body := bytes.Repeat([]byte("x"), 600)
		for b.Loop() {
			r, err := http.Post(receiver.URL, "application/json", bytes.NewReader(body))
			require.NoError(b, err)
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
	})
}

func deliver(b *testing.B, db *store.DB) {
	var got atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	b.Cleanup(receiver.Close)
	out := egress.New(egress.Config{AllowPrivate: true})
	b.Cleanup(out.Close)
	ctx, _ := storetest.Workspace(b, db)
	name := "Juniper"
	a, err := agent.Create(ctx, db, agent.Settings{Name: &name})
	require.NoError(b, err)
	actions := agent.Actions{DB: db, Key: secret.NewKey(), Egress: out}
	_, err = actions.Create(ctx, a.ID, agent.Action{Type: agent.ActionWebhook, Name: &name, URL: &receiver.URL})
	require.NoError(b, err)
	courier := webhook.New(webhook.Config{DB: db, Egress: out, Actions: actions, Log: slog.New(slog.DiscardHandler)})
	for range b.N {
		require.NoError(b, db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			row, err := tx.Call.Create().SetDirection("outbound").SetStatus("completed").SetToNumber("+15551234567").
				SetFromNumber("+15005550000").SetAgentID(a.ID).Save(ctx)
			if err != nil {
				return err
			}
			_, err = courier.Enlist(ctx, tx, row, nil)
			return err
		}))
	}
	run, stop := context.WithCancel(b.Context())
	done := make(chan error)
	b.ResetTimer()
	go func() { done <- courier.Run(run) }()
	for got.Load() < int64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	stop()
	require.NoError(b, <-done)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
}
