package carrier

import "sync"

const (
	// feedRoom is the bound of a leg's events; captions that are not final are dropped from captionRoom on.
	feedRoom    = 64
	captionRoom = 32
)

// Feed is the events of a leg and its end, by the rules of [Leg] for Events: every carrier's leg has one. Make it with
// NewFeed; its methods may be called by any goroutine and never block.
type Feed struct {
	mu     sync.Mutex
	events chan Event
	done   chan struct{}
	ended  *Ended
}

// NewFeed makes a feed that has not ended.
func NewFeed() *Feed {
	return &Feed{events: make(chan Event, feedRoom), done: make(chan struct{})}
}

// Events is that of Leg.
func (f *Feed) Events() <-chan Event { return f.events }

// Done is closed at the end.
func (f *Feed) Done() <-chan struct{} { return f.done }

// Over is the *Ended; nil before the end.
func (f *Feed) Over() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == nil {
		return nil // not a nil *Ended: that would be an error
	}
	return f.ended
}

// Emit delivers an event: partial captions are dropped when the receiver is behind, other events push out the oldest,
// which are captions in all practice. After the end it does nothing.
func (f *Feed) Emit(e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != nil || e.Kind == EventCaption && !e.Caption.Final && len(f.events) >= captionRoom {
		return
	}
	f.push(e)
}

// End delivers the last event; false when there was an end already.
func (f *Feed) End(e Event) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != nil {
		return false
	}
	f.ended = e.Ended
	e.Kind = EventEnded
	f.push(e)
	close(f.events)
	close(f.done)
	return true
}

func (f *Feed) push(e Event) {
	for {
		select {
		case f.events <- e:
			return
		default:
		}
		select {
		case <-f.events:
		default:
		}
	}
}
