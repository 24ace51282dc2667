package hosted

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/conversation"
)

// cache keeps the sound of lines that are known before they are needed, by everything that makes their sound: the newest
// used, up to a bound.
type cache struct {
	max int

	mu    sync.Mutex
	bytes int
	lines map[conversation.Line]*list.Element // of *cached
	used  *list.List                          // newest in front
}

type cached struct {
	line conversation.Line
	pcm  []int16
	made chan struct{} // closed when pcm is there, or never will be
}

func newCache(limit int) *cache {
	return &cache{max: limit, lines: map[conversation.Line]*list.Element{}, used: list.New()}
}

// get is a line's sound, nil when there is none; one that is being made is waited for, for so long.
func (c *cache) get(ctx context.Context, l conversation.Line, patience time.Duration) []int16 {
	c.mu.Lock()
	e := c.lines[l]
	if e == nil {
		c.mu.Unlock()
		return nil
	}
	c.used.MoveToFront(e)
	entry := e.Value.(*cached)
	c.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-entry.made:
		return entry.pcm
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// fill makes a line's sound unless it is there or being made. What can not be made is not kept.
func (c *cache) fill(l conversation.Line, produce func() ([]int16, error)) {
	c.mu.Lock()
	if c.lines[l] != nil {
		c.mu.Unlock()
		return
	}
	entry := &cached{line: l, made: make(chan struct{})}
	e := c.used.PushFront(entry)
	c.lines[l] = e
	c.mu.Unlock()

	pcm, err := produce()
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(entry.made)
	if c.lines[l] != e {
		return // there was no room for it any more
	}
	if err != nil || 2*len(pcm) > c.max {
		c.drop(e)
		return
	}
	entry.pcm = pcm
	c.bytes += 2 * len(pcm)
	for c.bytes > c.max {
		c.drop(c.used.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	entry := c.used.Remove(e).(*cached)
	delete(c.lines, entry.line)
	c.bytes -= 2 * len(entry.pcm)
}
