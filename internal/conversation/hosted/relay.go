package hosted

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callwright/callwright/internal/openai"
)

// try is one way to ask for something.
type try struct {
	client *openai.Client
	fresh  bool // over a connection of its own
}

func (t try) context(ctx context.Context) context.Context {
	if t.fresh {
		return openai.Fresh(ctx)
	}
	return ctx
}

// tries are the ways in their order. fresh leaves out the first one: it has failed already.
func (s servers) tries(fresh bool) []try {
	all := []try{{s.first, false}, {s.first, true}}
	if fresh {
		all = all[1:]
	}
	if s.fallback != nil {
		all = append(all, try{s.fallback, false})
	}
	return all
}

// errLost tells a server that another one was faster.
var errLost = errors.New("another server was faster")

// attempt asks one way. It calls claim before it gives anything, and gives nothing when that fails.
type attempt func(ctx context.Context, t try, claim func() error) error

// The pause before a server that is busy is asked again when there is no other, and the longest one it may ask for.
const (
	busyPause   = 300 * time.Millisecond
	busyLongest = 1500 * time.Millisecond
)

// relay asks one way after the other: the next one when the one before failed, or had nothing to give after late; then
// the fallback comes before the same server once more, and without one that gets twice the time: it may have too much to
// do already. The first that claims goes on alone. The error is the one of the first way that failed, or of the one that
// went on.
func (s servers) relay(ctx context.Context, what string, late time.Duration, fresh bool, do attempt) error {
	r := &relaying{servers: s, what: what, left: s.tries(fresh), do: do, results: make(chan result, 4), won: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(ctx)
	defer r.tasks.Wait()
	defer r.cancel()
	r.start(false)
	next := time.NewTimer(r.patience(late))
	defer next.Stop()
	var first error
	for {
		select {
		case got := <-r.results:
			if r.running--; got.err == nil || r.winner.Load() == got.n {
				return got.err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !errors.Is(got.err, errLost) {
				s.log.WarnContext(ctx, "speech server failed", "for", what, "server", got.try.client, "fresh", got.try.fresh, "error", got.err)
				if first == nil {
					first = got.err
				}
			}
			if r.winner.Load() != 0 {
				continue
			}
			pause := r.skip(got)
			if len(r.left) == 0 && r.running == 0 {
				return first
			}
			next.Reset(pause)
		case <-next.C:
			if r.winner.Load() == 0 && r.start(r.running > 0) {
				next.Reset(r.patience(late))
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// relaying is one relay under way.
type relaying struct {
	servers
	what    string
	ctx     context.Context
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	left    []try
	do      attempt
	results chan result
	running int
	started int32
	winner  atomic.Int32 // 0 is nobody yet
	won     chan struct{}
}

type result struct {
	n   int32
	try try
	err error
}

// elsewhere is the next way to another server than the first, -1 for none.
func (r *relaying) elsewhere() int {
	return slices.IndexFunc(r.left, func(t try) bool { return t.client != r.first })
}

// patience is how long the running ways are waited for before the next one is asked.
func (r *relaying) patience(late time.Duration) time.Duration {
	if r.elsewhere() < 0 {
		return 2 * late
	}
	return late
}

// start asks the next way, another server first if one is only late; false when there is none.
func (r *relaying) start(late bool) bool {
	if len(r.left) == 0 {
		return false
	}
	i := 0
	if late {
		i = max(r.elsewhere(), 0)
	}
	t := r.left[i]
	r.left = slices.Delete(r.left, i, i+1)
	r.started++
	r.running++
	n := r.started
	ctx, cancel := context.WithCancelCause(t.context(r.ctx))
	r.tasks.Go(func() {
		select {
		case <-r.won:
			if r.winner.Load() != n {
				cancel(errLost)
			}
		case <-ctx.Done():
		}
	})
	r.tasks.Go(func() {
		defer cancel(nil)
		err := r.do(ctx, t, func() error {
			if r.winner.CompareAndSwap(0, n) {
				close(r.won)
			}
			if r.winner.Load() != n {
				return errLost
			}
			return nil
		})
		if err != nil && errors.Is(context.Cause(ctx), errLost) {
			err = errLost
		}
		r.results <- result{n, t, err}
	})
	return true
}

// skip drops the ways that make no sense after a failure and tells when the next one is to be asked: a server that
// refuses or is busy will be so again at once, so the fallback comes first; without one, the busy one gets its pause.
func (r *relaying) skip(got result) time.Duration {
	var e *openai.Error
	if !errors.As(got.err, &e) {
		return 0
	}
	busy := e.Status == 429 || e.Status == 503
	if len(r.left) == 0 || r.left[0].client != got.try.client || !busy && !errors.Is(e.Kind, openai.ErrRefused) {
		return 0
	}
	switch {
	case len(r.left) > 1:
		r.left = r.left[1:]
		return 0
	case !busy:
		return 0
	case e.RetryAfter > busyLongest:
		r.left = nil
		return 0
	}
	return max(busyPause, e.RetryAfter)
}
