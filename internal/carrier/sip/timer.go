package sip

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/emiago/sipgo/sip"
)

// sessionTimer is the session timer of a leg: both sides find out when the other one is gone.
type sessionTimer struct {
	leg *leg

	mu       sync.Mutex
	interval time.Duration // 0: no timer
	ours     bool          // we refresh
	update   bool          // the other side takes UPDATE
	timer    *time.Timer
	stopped  bool
}

// wish and least are the durations of the settings, in seconds.
func (s *sessionTimer) wish() int  { return int(s.leg.line.c.SessionExpires / time.Second) }
func (s *sessionTimer) least() int { return int(s.leg.line.c.MinSession / time.Second) }

// offer puts our wish into an INVITE. min is what the other side asked for at least; 0 for nothing.
func (s *sessionTimer) offer(req *sip.Request, min int) {
	req.AppendHeader(generic("Session-Expires", strconv.Itoa(max(s.wish(), min))))
	req.AppendHeader(generic("Min-SE", strconv.Itoa(max(s.least(), min))))
}

// again puts what is agreed on into a refresh of ours.
func (s *sessionTimer) again(req *sip.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interval > 0 {
		req.AppendHeader(generic("Session-Expires", strconv.Itoa(int(s.interval.Seconds()))+";refresher=uac"))
		req.AppendHeader(generic("Min-SE", strconv.Itoa(s.least())))
	}
}

// answer takes what the answer to our INVITE or UPDATE says.
func (s *sessionTimer) answer(res *sip.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(res)
	expires, refresher := sessionExpiresOf(res)
	if s.interval, s.ours = 0, false; expires != 0 {
		s.interval, s.ours = time.Duration(max(expires, s.least()))*time.Second, refresher != "uas"
	}
}

// ask takes what an INVITE or UPDATE of the other side asks for. The result is the Session-Expires of our answer, "" for
// none; tooShort means 422.
func (s *sessionTimer) ask(req *sip.Request) (reply string, tooShort bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn(req)
	expires, refresher := sessionExpiresOf(req)
	if !lists(req, "supported", "timer") && expires == 0 {
		s.interval = 0
		return "", false
	}
	if expires == 0 {
		expires = max(s.wish(), deltaSeconds(header(req, "min-se")))
	}
	if expires < s.least() {
		return "", true
	}
	if refresher == "" {
		refresher = "uac"
	}
	s.interval, s.ours = time.Duration(expires)*time.Second, refresher == "uas"
	return strconv.Itoa(expires) + ";refresher=" + refresher, false
}

// learn takes from a message whether the other side understands UPDATE.
func (s *sessionTimer) learn(m message) {
	if header(m, "allow") != "" {
		s.update = lists(m, "allow", "UPDATE")
	}
}

// start starts the timer anew after an agreement.
func (s *sessionTimer) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.stopped || s.interval == 0 {
		return
	}
	if s.ours {
		s.timer = time.AfterFunc(s.interval/2, s.refresh)
		return
	}
	s.timer = time.AfterFunc(s.interval-min(32*time.Second, s.interval/3), s.expire)
}

func (s *sessionTimer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// expire ends a call whose other side gave no sign of life.
func (s *sessionTimer) expire() {
	s.leg.hangUp(lineFailed("The other side gave no sign of life any more."))
}

// refresh asks the other side for a sign of life. A call whose other side does not answer at all is over.
func (s *sessionTimer) refresh() {
	s.leg.line.background(func(ctx context.Context) {
		s.mu.Lock()
		update := s.update
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, 32*time.Second) // as long as a request without any answer
		defer cancel()
		res, err := s.leg.renew(ctx, update)
		switch {
		case s.leg.feed.Over() != nil:
		case err != nil:
			s.expire()
		case res.IsSuccess():
			s.answer(res)
			s.start()
		default: // a refusal is a sign of life too
			s.start()
		}
	})
}

// sessionExpiresOf reads "1800;refresher=uac"; 0 without the header.
func sessionExpiresOf(m message) (expires int, refresher string) {
	value, params, _ := strings.Cut(header(m, "session-expires"), ";")
	for p := range strings.SplitSeq(params, ";") {
		if name, v, ok := strings.Cut(strings.TrimSpace(p), "="); ok && strings.EqualFold(name, "refresher") {
			refresher = strings.ToLower(strings.TrimSpace(v))
		}
	}
	return deltaSeconds(value), refresher
}

// deltaSeconds reads a number of seconds, at most a day; 0 where there is none.
func deltaSeconds(text string) int {
	text, _, _ = strings.Cut(text, ";")
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	if err != nil {
		return 0
	}
	return int(min(n, 86400))
}
