package rest

import (
	"context"
	"crypto/sha256"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/throttle"
)

// span is the length of the rolling window. spec: Limits, Global request throttle.
const span = time.Minute

// memory is how long a token's owner is remembered after its last request.
const memory = 10 * time.Minute

// patience is how long the owner of a token may be looked for.
const patience = 5 * time.Second

// gate accepts at most limit requests of a caller in any span, exactly (package throttle).
//
// The caller is whoever a bearer token belongs to, else the client's address. Who a token belongs to is asked once and
// remembered; a token that nobody has counts against the address, and so many of them that they fill the limit by
// themselves close the address to further unknown tokens, so that made-up tokens buy neither room nor database work.
type gate struct {
	log    *throttle.Log
	failed *throttle.Log // unknown tokens by address: what guards this process is counted in it
	caller func(ctx context.Context, token string) (string, error)
	start  time.Time // all times are since then, on the monotonic clock
	swept  atomic.Int64
	shards [64]shard
}

// shard remembers the owners of tokens.
type shard struct {
	mu     sync.Mutex
	owners map[[sha256.Size]byte]*owner
}

// owner is who a token belongs to.
type owner struct {
	name string
	used time.Duration
}

func newGate(c Config) *gate {
	log := c.Throttle
	if log == nil {
		log = throttle.New(c.RateLimit, span)
	}
	return &gate{log: log, failed: throttle.New(log.Limit, span), caller: c.Caller, start: time.Now()}
}

// take counts a request against its caller; stranger tells that its credential is missing or nobody's.
func (g *gate) take(r *http.Request) (v throttle.Verdict, stranger bool) {
	g.sweep()
	addr := throttle.Address(r.RemoteAddr)
	token := bearer(r)
	if token == "" {
		return g.log.Take(r.Context(), addr), true
	}
	sum := sha256.Sum256([]byte(token))
	if name, ok := g.ownerOf(sum); ok {
		return g.log.Take(r.Context(), name), false
	}
	if g.caller == nil {
		return g.log.Take(r.Context(), string(sum[:])), false
	}
	if v := g.failed.Look(addr); !v.OK {
		return v, true
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	name, err := g.caller(ctx, token)
	if err != nil {
		stranger = fault.From(err).Kind == fault.Unauthenticated // else nobody could be asked
		if stranger {
			g.failed.Take(r.Context(), addr)
		}
		return g.log.Take(r.Context(), addr), stranger
	}
	g.remember(sum, name)
	return g.log.Take(r.Context(), name), false
}

// sweep forgets idle tokens, at most once in a span.
func (g *gate) sweep() {
	now, last := time.Since(g.start), g.swept.Load()
	if now-time.Duration(last) < span || !g.swept.CompareAndSwap(last, int64(now)) {
		return
	}
	for i := range g.shards {
		s := &g.shards[i]
		s.mu.Lock()
		for sum, o := range s.owners {
			if now-o.used >= memory {
				delete(s.owners, sum)
			}
		}
		s.mu.Unlock()
	}
}

func (g *gate) ownerOf(sum [sha256.Size]byte) (string, bool) {
	s := &g.shards[int(sum[0])%len(g.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[sum]
	if o == nil {
		return "", false
	}
	o.used = time.Since(g.start)
	return o.name, true
}

func (g *gate) remember(sum [sha256.Size]byte, name string) {
	s := &g.shards[int(sum[0])%len(g.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners == nil {
		s.owners = map[[sha256.Size]byte]*owner{}
	}
	s.owners[sum] = &owner{name: name, used: time.Since(g.start)}
}

// bearer is the request's bearer token, or empty.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

var errRate = fault.New(fault.TooMany, "rate_limited", "too many requests in the last 60 seconds")

// admit counts the request and writes the RateLimit headers; it is nil when the request may go on.
func (g *gate) admit(x *exchange, r *http.Request) *fault.Error {
	v, stranger := g.take(r)
	x.stranger = stranger
	h := x.Header()
	seconds := int(math.Ceil(v.Reset.Seconds()))
	h.Set("Ratelimit-Limit", strconv.Itoa(g.log.Limit)) // the canonical form of the names saves Set making it
	h.Set("Ratelimit-Remaining", strconv.Itoa(v.Remaining))
	h.Set("Ratelimit-Reset", strconv.Itoa(seconds))
	if v.OK {
		return nil
	}
	f := *errRate
	f.RetryAfter = v.Reset
	return &f
}
