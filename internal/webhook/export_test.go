package webhook

import (
	"context"
	"sync"

	"github.com/callwright/callwright/internal/store"
)

// Pass makes all deliveries that are due now, waits for them and reports how many attempts that were.
func (c *Courier) Pass(ctx context.Context) (int, error) {
	made := 0
	for {
		claimed, err := c.claim(store.System(ctx), atOnce)
		if err != nil || len(claimed) == 0 {
			return made, err
		}
		made += len(claimed)
		var wg sync.WaitGroup
		for _, d := range claimed {
			wg.Go(func() { c.attempt(ctx, d) })
		}
		wg.Wait()
	}
}

// Claim takes what is due and posts nothing, as a process does that dies.
func (c *Courier) Claim(ctx context.Context) (int, error) {
	claimed, err := c.claim(store.System(ctx), atOnce)
	return len(claimed), err
}
