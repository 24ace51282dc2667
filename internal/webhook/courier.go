package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/delivery"
	"github.com/callwright/callwright/internal/agent"
	"github.com/callwright/callwright/internal/egress"
	"github.com/callwright/callwright/internal/store"
)

const (
	// perEndpoint is how many posts may be under way to one endpoint. Those of all processes count; two processes that
	// claim at the same instant may each come up to it.
	perEndpoint = 4
	// atOnce is how many posts a process has under way.
	atOnce = 128
	// poll finds what other processes enlisted and what became due.
	poll = 500 * time.Millisecond
	// timeout is how long a receiver may take to its response headers. spec: Delivery, Success.
	timeout = 10 * time.Second
	// lease outlives an attempt: after it the process that made it is taken for dead.
	lease = 30 * time.Second
)

// Backoff are the steps between attempts. CONTRACT.md §2, Webhook.
var Backoff = []time.Duration{30 * time.Second, 3 * time.Minute, 18 * time.Minute, 108 * time.Minute}

// Config says how deliveries are made.
type Config struct {
	DB *store.DB
	// Egress is the only way to the receivers.
	Egress *egress.Client
	// Actions opens sealed header values.
	Actions agent.Actions
	// Backoff are the steps between attempts; the last one repeats. Defaults to Backoff.
	Backoff []time.Duration
	// Version of the program, for User-Agent.
	Version string
	Log     *slog.Logger
	// Now is the clock of due times. Defaults to store.Now.
	Now func() time.Time
}

// Courier makes the deliveries that are due.
type Courier struct {
	Config
	wake chan struct{}
}

// New returns a courier; Run makes it work.
func New(c Config) *Courier {
	if len(c.Backoff) == 0 {
		c.Backoff = Backoff
	}
	if c.Now == nil {
		c.Now = store.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Courier{Config: c, wake: make(chan struct{}, 1)}
}

// Wake tells the courier that something was enlisted in this process.
func (c *Courier) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run delivers until ctx ends, and then waits for the attempts under way, each of which is bounded.
func (c *Courier) Run(ctx context.Context) error {
	var under sync.WaitGroup
	defer under.Wait()
	room := make(chan struct{}, atOnce)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		claimed, err := c.claim(store.System(ctx), atOnce-len(room))
		if err != nil && ctx.Err() == nil {
			c.Log.WarnContext(ctx, "deliveries can not be claimed", "error", err)
		}
		for _, d := range claimed {
			room <- struct{}{}
			under.Go(func() {
				defer func() { <-room; c.Wake() }()
				// An attempt that has begun is finished and recorded, also while the program stops.
				c.attempt(context.WithoutCancel(ctx), d)
			})
		}
		if len(claimed) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-tick.C:
		}
	}
}

// claim takes up to n deliveries that are due, counts their attempt and leases them, in one transaction. Endpoints that
// have all their posts under way are left out of the query, so that their backlog is not read again and again.
func (c *Courier) claim(ctx context.Context, n int) (claimed []*ent.Delivery, err error) {
	if n <= 0 {
		return nil, nil
	}
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		claimed = nil
		now := c.Now()
		busy, err := underWay(ctx, tx.Client, now)
		if err != nil {
			return err
		}
		for len(claimed) < n {
			due, err := c.due(ctx, tx, now, busy, n-len(claimed))
			if err != nil {
				return err
			}
			if len(due) == 0 {
				return nil
			}
			for _, d := range due {
				if busy[d.Endpoint] >= perEndpoint {
					continue
				}
				busy[d.Endpoint]++
				d, err = d.Update().AddAttempt(1).SetLeaseUntil(now.Add(lease)).SetUpdatedAt(now).Save(ctx)
				if err != nil {
					return err
				}
				claimed = append(claimed, d)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return claimed, nil
}

// due are pending deliveries whose time has come and that no process has, oldest first.
func (c *Courier) due(ctx context.Context, tx *store.Tx, now time.Time, busy map[string]int, n int) ([]*ent.Delivery, error) {
	var full []string
	for endpoint, count := range busy {
		if count >= perEndpoint {
			full = append(full, endpoint)
		}
	}
	q := tx.Delivery.Query().Where(delivery.Status(Pending), delivery.NextAttemptAtLTE(now),
		delivery.Or(delivery.LeaseUntilIsNil(), delivery.LeaseUntilLTE(now)))
	if len(full) > 0 {
		q.Where(delivery.EndpointNotIn(full...))
	}
	return q.Order(delivery.ByNextAttemptAt(), delivery.ByID()).Limit(n).Where(store.SkipLocked).All(ctx)
}

// underWay counts the posts of each endpoint, over all processes.
func underWay(ctx context.Context, c *ent.Client, now time.Time) (map[string]int, error) {
	var rows []struct {
		Endpoint string `json:"endpoint"`
		Count    int    `json:"count"`
	}
	err := c.Delivery.Query().Where(delivery.LeaseUntilGT(now)).GroupBy(delivery.FieldEndpoint).Aggregate(ent.Count()).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	busy := make(map[string]int, len(rows))
	for _, r := range rows {
		busy[r.Endpoint] = r.Count
	}
	return busy, nil
}

// Failing reports for each of the endpoints whether its last deliveries of the workspace in ctx all failed: five or more
// attempts in a row without a delivery.
func Failing(ctx context.Context, c *ent.Client, endpoints []string) (map[string]bool, error) {
	failing := map[string]bool{}
	for _, endpoint := range endpoints {
		if _, known := failing[endpoint]; known {
			continue
		}
		last, err := c.Delivery.Query().Where(delivery.Endpoint(endpoint), delivery.AttemptGT(0)).
			Order(delivery.ByUpdatedAt(sql.OrderDesc())).Limit(5).All(ctx)
		if err != nil {
			return nil, err
		}
		tries, delivered := 0, false
		for _, d := range last {
			tries += d.Attempt
			delivered = delivered || d.Status == Delivered
		}
		failing[endpoint] = tries >= MaxAttempts && !delivered
	}
	return failing, nil
}

// byID is a delivery of the workspace in ctx, held by the transaction.
func byID(ctx context.Context, tx *store.Tx, id uuid.UUID) (*ent.Delivery, error) {
	return tx.Delivery.Query().Where(delivery.ID(id), store.ForUpdate).Only(ctx)
}
