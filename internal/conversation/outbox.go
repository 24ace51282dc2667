package conversation

// outbox hands finished turns to the hook without ever making the loop wait.
type outbox struct {
	hook  func(Turn)
	turns chan Turn
	done  chan struct{}
	sent  int
}

func openOutbox(hook func(Turn)) *outbox {
	o := &outbox{hook: hook, turns: make(chan Turn, 32), done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for turn := range o.turns {
			if hook != nil {
				hook(turn)
			}
		}
	}()
	return o
}

// offer sends what there is room for; the rest goes with the next frame.
func (o *outbox) offer(all []Turn) {
	for o.sent < len(all) {
		select {
		case o.turns <- all[o.sent]:
			o.sent++
		default:
			return
		}
	}
}

// close sends the rest and waits for the hook.
func (o *outbox) close(all []Turn) {
	for ; o.sent < len(all); o.sent++ {
		o.turns <- all[o.sent]
	}
	close(o.turns)
	<-o.done
}
