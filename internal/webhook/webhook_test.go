package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/secret"
	"github.com/callwright/callwright/internal/store"
	"github.com/callwright/callwright/internal/store/storetest"
	"github.com/callwright/callwright/internal/webhook"
)

var update = flag.Bool("update", false, "write the golden files anew")

// house is a workspace with an agent, a receiver that answers as told and a courier on a clock of its own.
type house struct {
	db      *store.DB
	ctx     context.Context
	agent   *ent.Agent
	actions agent.Actions
	courier *webhook.Courier

	mu      sync.Mutex
	now     time.Time
	answers []int // statuses, in turn; the last one repeats
	header  http.Header
	got     []post
	url     string
}

type post struct {
	header http.Header
	body   []byte
}

func build(t *testing.T, db *store.DB) *house {
	h := &house{db: db, now: store.Now().Add(time.Hour), answers: []int{200}}
	h.ctx, _ = storetest.Workspace(t, db)
	name := "Juniper"
	a, err := agent.Create(h.ctx, db, agent.Settings{Name: &name})
	require.NoError(t, err)
	h.agent = a
	receiver := httptest.NewServer(h)
	t.Cleanup(receiver.Close)
	h.url = receiver.URL + "/hook?token=secret"
	client := egress.New(egress.Config{AllowPrivate: true})
	t.Cleanup(client.Close)
	h.actions = agent.Actions{DB: db, Key: secret.NewKey(), Egress: client}
	h.courier = webhook.New(webhook.Config{
		DB: db, Egress: client, Actions: h.actions, Version: "test", Log: slog.New(slog.DiscardHandler), Now: h.clock,
	})
	return h
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(by time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(by)
}

func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, post{r.Header.Clone(), body})
	status := h.answers[min(len(h.got), len(h.answers))-1]
	for name, values := range h.header {
		w.Header()[name] = values
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte("answer\x00 " + strings.Repeat("x", 2000)))
}

func (h *house) posts() []post {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.got
}

func (h *house) action(t *testing.T, name string, headers map[string]string) *ent.Action {
	a, err := h.actions.Create(h.ctx, h.agent.ID, agent.Action{Type: agent.ActionWebhook, Name: &name, URL: &h.url, Headers: headers})
	require.NoError(t, err)
	return a
}

// call writes an ended call and its deliveries.
func (h *house) call(t *testing.T, change func(*ent.CallCreate)) *ent.Call {
	create := h.db.Ent().Call.Create().SetDirection("outbound").SetStatus("completed").SetToNumber("+15551234567").
		SetFromNumber("+15005550000").SetAgentID(h.agent.ID)
	if change != nil {
		change(create)
	}
	row, err := create.Save(h.ctx)
	require.NoError(t, err)
	require.NoError(t, h.enlist(row))
	return row
}

func (h *house) enlist(row *ent.Call) error {
	return h.db.InTx(h.ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := h.courier.Enlist(ctx, tx, row, nil)
		return err
	})
}

func (h *house) deliveries(t *testing.T) []*ent.Delivery {
	page, err := webhook.List(h.ctx, h.db.Ent(), webhook.Query{})
	require.NoError(t, err)
	return page.Rows
}

func (h *house) work(t *testing.T) int {
	n, err := h.courier.Pass(t.Context())
	require.NoError(t, err)
	return n
}

func golden(t *testing.T, name string, body []byte, replace ...string) {
	t.Helper()
	// In the order of the keys: PostgreSQL keeps none in what it stores as JSON.
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var members any
	require.NoError(t, d.Decode(&members))
	pretty, err := json.MarshalIndent(members, "", "  ")
	require.NoError(t, err)
	got := strings.NewReplacer(replace...).Replace(string(pretty)) + "\n"
	file := "testdata/" + name + ".json"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestTheBodyIsPayloadVersionOnePointOne(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.action(t, "CRM", map[string]string{"authorization": "Bearer shared"})
		row := h.call(t, func(c *ent.CallCreate) {
			c.SetDuration(29).SetVariables(map[string]string{"name": "Zoë <3", "n": "5"})
		})
		for i, turn := range []struct{ role, text string }{{"agent", "Hi Zoë."}, {"function_call", `{"name":"end"}`}, {"user", "Hello\nthere"}} {
			h.db.Ent().Turn.Create().SetCallID(row.ID).SetSeq(i).SetRole(turn.role).SetContent(turn.text).
				SetStartMs(i * 1000).SetEndMs(i*1000 + 900).SaveX(h.ctx)
		}
		h.db.Ent().CallAnalysis.Create().SetCallID(row.ID).SetSummary("Short.").
			SetPersonalized(json.RawMessage(`{"action_id":"a","name":"For me","content":"c"}`)).
			SetChecks(json.RawMessage(`[{"action_id":"b","key":"booked","name":"Booked","icon":null,"matched":true}]`)).
			SetExtracted(json.RawMessage(`[{"action_id":"d","key":"when","name":"When","format":"text","value":null}]`)).SaveX(h.ctx)
		who := h.db.Ent().Contact.Create().SetPhone("+15551234567").SetFirstName("Zoë").
			SetCustomFields(json.RawMessage(`{"crm_id":12345678901234567,"any":[1.10,{"x":null}]}`)).SaveX(h.ctx)

		require.Equal(t, 1, h.work(t))
		sent := h.posts()[0]
		golden(t, "completed", sent.body, row.ID.String(), "CALL", h.agent.ID.String(), "AGENT", who.ID.String(), "CONTACT")
		require.Contains(t, string(sent.body), "12345678901234567", "custom fields as stored")
		require.Equal(t, "Callwright/test", sent.header.Get("User-Agent"))
		require.Equal(t, "application/json", sent.header.Get("Content-Type"))
		require.Equal(t, "Bearer shared", sent.header.Get("Authorization"))
		d := h.deliveries(t)[0]
		require.Equal(t, d.ID.String(), sent.header.Get("X-Delivery-Id"))
		require.Equal(t, "1", sent.header.Get("X-Delivery-Attempt"))
		require.Equal(t, webhook.Delivered, d.Status)
		require.NotContains(t, d.URL, "secret")
		all, err := webhook.Attempts(d)
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, 200, all[0].HTTPStatus)
		require.LessOrEqual(t, len(all[0].Response), 1024)
	})
}

func TestSparseCallsHavePlaceholders(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.action(t, "CRM", nil)
		row := h.call(t, func(c *ent.CallCreate) { c.SetStatus("no-answer") })
		// As an analysis without checks and data is stored.
		h.db.Ent().CallAnalysis.Create().SetCallID(row.ID).SetPersonalized(nil).SetChecks(nil).SetExtracted(nil).SaveX(h.ctx)
		h.work(t)
		golden(t, "no-answer", h.posts()[0].body, row.ID.String(), "CALL", h.agent.ID.String(), "AGENT")

		inbound := h.call(t, func(c *ent.CallCreate) {
			c.SetDirection("inbound").SetFromNumber("+15557654321").SetToNumber("+15005550000").SetVariables(map[string]string{"x": "y"})
		})
		h.work(t)
		golden(t, "inbound", h.posts()[1].body, inbound.ID.String(), "CALL", h.agent.ID.String(), "AGENT")
	})
}

func TestHIPAAWorkspacesSendNoContentUnlessTheActionSaysSo(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.action(t, "CRM", nil)
		row := h.call(t, nil)
		h.db.Ent().Workspace.Update().SetHipaa(true).ExecX(store.System(t.Context()))
		h.db.Ent().Turn.Create().SetCallID(row.ID).SetSeq(0).SetRole("user").SetContent("CANARY").SetStartMs(0).SetEndMs(1).SaveX(h.ctx)
		h.db.Ent().CallAnalysis.Create().SetCallID(row.ID).SetSummary("CANARY").SetExtracted(json.RawMessage(`["CANARY"]`)).SaveX(h.ctx)
		h.db.Ent().Contact.Create().SetPhone("+15551234567").SetFirstName("CANARY").SaveX(h.ctx)
		h.work(t)
		require.NotContains(t, string(h.posts()[0].body), "CANARY")
		require.Contains(t, string(h.posts()[0].body), `"transcript":"No transcript available"`)
	})
}

func TestFiveAttemptsWithGrowingPausesThenNoMore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.answers = []int{500, 301, 404, 101, 503}
		h.action(t, "CRM", nil)
		h.call(t, nil)
		for i, step := range append([]time.Duration{0}, webhook.Backoff...) {
			h.pass(step * 79 / 100)
			if i > 0 {
				require.Zero(t, h.work(t), "not before 80 %% of step %d", i)
			}
			h.pass(step * 42 / 100)
			require.Equal(t, 1, h.work(t), "attempt %d", i+1)
		}
		h.pass(1000 * time.Hour)
		require.Zero(t, h.work(t))
		require.Len(t, h.posts(), 5)
		d := h.deliveries(t)[0]
		require.Equal(t, webhook.Abandoned, d.Status)
		all, err := webhook.Attempts(d)
		require.NoError(t, err)
		for i, try := range all {
			require.Equal(t, i+1, try.Number)
			require.NotEmpty(t, try.Error)
		}
		failing, err := webhook.Failing(h.ctx, db.Ent(), []string{d.Endpoint})
		require.NoError(t, err)
		require.True(t, failing[d.Endpoint])
		ids := map[string]bool{}
		for _, sent := range h.posts() {
			ids[sent.header.Get("X-Delivery-Id")] = true
		}
		require.Len(t, ids, 1, "the same id over retries")

		again, err := webhook.Retry(h.ctx, db, d.ID)
		require.NoError(t, err)
		require.Equal(t, webhook.Pending, again.Status)
		h.mu.Lock()
		h.answers = []int{204}
		h.mu.Unlock()
		h.pass(time.Minute)
		require.Equal(t, 1, h.work(t))
		require.Equal(t, webhook.Delivered, h.deliveries(t)[0].Status)
		_, err = webhook.Retry(h.ctx, db, d.ID)
		require.Equal(t, "already_delivered", fault.From(err).Code)
	})
}

func TestAReceiverMayAskForMoreTimeButNotForever(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.answers, h.header = []int{503}, http.Header{"Retry-After": {"999999"}}
		h.action(t, "CRM", nil)
		h.call(t, nil)
		require.Equal(t, 1, h.work(t))
		require.WithinDuration(t, h.clock().Add(6*time.Hour), *h.deliveries(t)[0].NextAttemptAt, time.Second)
	})
}

func TestACrashCostsOneAttemptAndNeverASixth(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.action(t, "CRM", nil)
		h.call(t, nil)
		for range 5 {
			n, err := h.courier.Claim(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Zero(t, h.work(t), "another process has it")
			h.pass(time.Minute)
		}
		h.work(t)
		require.Empty(t, h.posts())
		require.Equal(t, webhook.Abandoned, h.deliveries(t)[0].Status)
	})
}

func TestOneDeliveryPerActionPerCall(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		h.action(t, "One", nil)
		gone := h.action(t, "Two", nil)
		row := h.call(t, nil)
		require.NoError(t, h.enlist(row))
		require.Len(t, h.deliveries(t), 2)
		require.NoError(t, h.actions.Delete(h.ctx, h.agent.ID, gone.ID))
		h.work(t)
		require.Len(t, h.posts(), 1, "of the action that is left")
		page, err := webhook.List(h.ctx, db.Ent(), webhook.Query{CallID: &row.ID, Status: webhook.Abandoned})
		require.NoError(t, err)
		require.Equal(t, gone.ID, page.Rows[0].ActionID)

		other, _ := storetest.Workspace(t, db)
		_, err = webhook.Get(other, db.Ent(), page.Rows[0].ID)
		require.Equal(t, "delivery_not_found", fault.From(err).Code)
		_, err = webhook.Retry(other, db, page.Rows[0].ID)
		require.Equal(t, "delivery_not_found", fault.From(err).Code)
		_, err = webhook.Retry(h.ctx, db, uuid.New())
		require.Equal(t, "delivery_not_found", fault.From(err).Code)
	})
}

// A slow endpoint has four posts under way; its backlog is left out while the others are served.
func TestASlowEndpointHoldsUpNobodyElse(t *testing.T) {
	storetest.Run(t, func(t *testing.T, db *store.DB) {
		h := build(t, db)
		release := make(chan struct{})
		slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-release }))
		t.Cleanup(slow.Close)
		let := sync.OnceFunc(func() { close(release) })
		t.Cleanup(let) // before slow.Close, which waits for its answers
		fast := h.url
		h.url = slow.URL
		held := h.action(t, "Slow", nil)
		for range 40 {
			h.call(t, nil)
		}
		h.url = fast
		h.action(t, "Fast", nil)
		for range 10 {
			h.call(t, nil)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		done := make(chan error, 1)
		go func() { done <- h.courier.Run(ctx) }()
		require.Eventually(t, func() bool { return len(h.posts()) == 10 }, 2*time.Minute, 10*time.Millisecond)
		under, err := db.Ent().Delivery.Query().All(h.ctx)
		require.NoError(t, err)
		begun := 0
		for _, d := range under {
			if d.ActionID == held.ID && d.Attempt > 0 {
				begun++
			}
		}
		require.LessOrEqual(t, begun, 4)
		let()
		stop()
		require.NoError(t, <-done)
	})
}
