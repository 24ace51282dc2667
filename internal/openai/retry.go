package openai

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// retry sends until there is an answer or no hope: at most so many attempts, with pauses that double, no shorter than the
// server asked for. send gets the context that notes the answer.
func (c *Client) retry(ctx context.Context, attempts int, send func(ctx context.Context) error) error {
	for attempt := 1; ; attempt++ {
		noted, note := noting(ctx)
		err := send(noted)
		if err == nil {
			return nil
		}
		err = c.failure(ctx, err, note)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(e.Kind, ErrUnavailable) || attempt >= attempts {
			return err
		}
		pause := max(jitter(c.config.Backoff<<(attempt-1)), e.RetryAfter)
		if deadline, ok := ctx.Deadline(); e.RetryAfter > c.config.MaxRetryAfter || ok && time.Until(deadline) <= pause {
			return err
		}
		if werr := wait(ctx, pause); werr != nil {
			return c.failure(ctx, werr, note)
		}
	}
}

// jitter spreads a pause over ±20 %, so that many clients do not come back at once.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
