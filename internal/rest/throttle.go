package rest

import (
	"context"
	"crypto/sha256"
	"hash/maphash"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/callwright/callwright/internal/fault"
)

// span is the length of the rolling window. spec: Limits, Global request throttle.
const span = time.Minute

// memory is how long a token's owner is remembered after its last request.
const memory = 10 * time.Minute

// patience is how long the owner of a token may be looked for.
const patience = 5 * time.Second

// throttle accepts at most limit requests of a caller in any span. It keeps the time of each accepted request (a sliding
// log), so it is exact: no window of that length holds more, and none is refused while there is room.
//
// The caller is whoever a bearer token belongs to, else the client's address. Who a token belongs to is asked once and
// remembered; a token that nobody has counts against the address, and so many of them that they fill the limit by
// themselves close the address to further unknown tokens, so that made-up tokens buy neither room nor database work.
type throttle struct {
	limit  int
	caller func(ctx context.Context, token string) (string, error)
	start  time.Time // all times are since then, on the monotonic clock
	seed   maphash.Seed
	shards [64]shard
}

type shard struct {
	mu     sync.Mutex
	logs   map[string]*sliding
	owners map[[sha256.Size]byte]*owner
	swept  time.Duration
}

// sliding holds the times of the requests accepted within the last span, oldest first.
type sliding struct{ times []time.Duration }

// owner is who a token belongs to.
type owner struct {
	name string
	used time.Duration
}

// verdict is what the throttle says to a request.
type verdict struct {
	ok        bool
	remaining int
	reset     time.Duration // until the oldest accepted request leaves the window
}

func newThrottle(c Config) *throttle {
	return &throttle{limit: c.RateLimit, caller: c.Caller, start: time.Now(), seed: maphash.MakeSeed()}
}

// take counts a request against its caller.
func (t *throttle) take(r *http.Request) verdict {
	addr := clientAddress(r.RemoteAddr)
	token := bearer(r)
	if token == "" {
		return t.count(addr, true)
	}
	sum := sha256.Sum256([]byte(token))
	if name, ok := t.ownerOf(sum); ok {
		return t.count(name, true)
	}
	if t.caller == nil {
		return t.count(string(sum[:]), true)
	}
	failed := "failed " + addr
	if v := t.count(failed, false); !v.ok {
		return v
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	name, err := t.caller(ctx, token)
	if err != nil {
		t.count(failed, true)
		return t.count(addr, true)
	}
	t.remember(sum, name)
	return t.count(name, true)
}

// count accepts a request of the caller if there is room; without add it only looks.
func (t *throttle) count(name string, add bool) verdict {
	s := &t.shards[maphash.String(t.seed, name)%uint64(len(t.shards))]
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(t.start)
	s.sweep(now)
	l := s.logs[name]
	if l == nil {
		if !add {
			return verdict{ok: true, remaining: t.limit}
		}
		if s.logs == nil {
			s.logs = map[string]*sliding{}
		}
		l = &sliding{}
		s.logs[name] = l
	}
	l.forget(now)
	ok := len(l.times) < t.limit
	if ok && add {
		l.times = append(l.times, now)
	}
	v := verdict{ok: ok, remaining: t.limit - len(l.times)}
	if len(l.times) > 0 {
		v.reset = l.times[0] + span - now
	}
	return v
}

// forget drops the requests that have left the window.
func (l *sliding) forget(now time.Duration) {
	i := 0
	for i < len(l.times) && now-l.times[i] >= span {
		i++
	}
	l.times = slices.Delete(l.times, 0, i)
}

// sweep forgets idle callers and tokens, at most once in a span.
func (s *shard) sweep(now time.Duration) {
	if now-s.swept < span {
		return
	}
	s.swept = now
	for name, l := range s.logs {
		if l.forget(now); len(l.times) == 0 {
			delete(s.logs, name)
		}
	}
	for sum, o := range s.owners {
		if now-o.used >= memory {
			delete(s.owners, sum)
		}
	}
}

func (t *throttle) ownerOf(sum [sha256.Size]byte) (string, bool) {
	s := &t.shards[int(sum[0])%len(t.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.owners[sum]
	if o == nil {
		return "", false
	}
	o.used = time.Since(t.start)
	return o.name, true
}

func (t *throttle) remember(sum [sha256.Size]byte, name string) {
	s := &t.shards[int(sum[0])%len(t.shards)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owners == nil {
		s.owners = map[[sha256.Size]byte]*owner{}
	}
	s.owners[sum] = &owner{name: name, used: time.Since(t.start)}
}

// clientAddress is the peer's address; for IPv6 its /64, which one client has whole.
func clientAddress(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	a = a.Unmap().WithZone("")
	if a.Is6() {
		p, _ := a.Prefix(64)
		return p.String()
	}
	return a.String()
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
func (t *throttle) admit(h http.Header, r *http.Request) *fault.Error {
	v := t.take(r)
	seconds := int(math.Ceil(v.reset.Seconds()))
	h.Set("Ratelimit-Limit", strconv.Itoa(t.limit)) // the canonical form of the names saves Set making it
	h.Set("Ratelimit-Remaining", strconv.Itoa(v.remaining))
	h.Set("Ratelimit-Reset", strconv.Itoa(seconds))
	if v.ok {
		return nil
	}
	f := *errRate
	f.RetryAfter = v.reset
	return &f
}
