package sip

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/emiago/sipgo/sip"
)

// registerFor is how long a registration is asked for, in seconds.
const registerFor = 600

// register keeps us registered at a trunk until ctx ends, and takes the registration back then.
func (t *trunk) register(ctx context.Context) {
	host, _ := t.ours()
	r := &registration{trunk: t, callID: "register-" + sip.GenerateTagN(16), tag: sip.GenerateTagN(16), expires: registerFor, host: host}
	pause := time.Second
	for ctx.Err() == nil {
		lasts, err := r.send(ctx, r.expires)
		wait := max(lasts*3/4, time.Second)
		if err != nil {
			t.another()
			pause = min(2*pause, 5*time.Minute)
			wait = pause
			if ctx.Err() == nil {
				t.line.log.Warn("not registered at the trunk", "trunk", t.Name, "error", err, "again_in", wait.String())
			}
			t.tell("not registered: " + err.Error())
		} else {
			if pause > time.Second || t.registration() == "" {
				t.line.log.Info("registered at the trunk", "trunk", t.Name)
			}
			pause = time.Second
			t.tell("registered")
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	if t.registration() == "registered" {
		last, cancel := context.WithTimeout(t.line.closing, 2*time.Second)
		defer cancel()
		_, _ = r.send(last, 0)
	}
}

func (t *trunk) tell(status string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status = status
}

func (t *trunk) registration() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// registration is the state of one.
type registration struct {
	trunk       *trunk
	callID, tag string
	seq         uint32
	expires     int
	host        string
}

// send registers, for expires seconds; 0 takes it back. The result is how long it lasts.
func (r *registration) send(ctx context.Context, expires int) (time.Duration, error) {
	t := r.trunk
	t.line.remember(r.callID)
	defer t.line.forget(r.callID)
	ctx, cancel := context.WithTimeout(ctx, 32*time.Second)
	defer cancel()
	for range 2 {
		res, err := t.line.ask(ctx, t, func(credentials ...sip.Header) *sip.Request { return r.request(expires, credentials) })
		if err != nil {
			return 0, err
		}
		if min := deltaSeconds(header(res, "min-expires")); res.StatusCode == 423 && min > expires {
			r.expires, expires = min, min
			continue
		}
		if !res.IsSuccess() {
			return 0, fmt.Errorf("the trunk answered %d", res.StatusCode)
		}
		return r.granted(res, expires), nil
	}
	return 0, fmt.Errorf("the trunk wants another duration each time")
}

func (r *registration) request(expires int, credentials []sip.Header) *sip.Request {
	t := r.trunk
	req := sip.NewRequest(sip.REGISTER, uri("", t.Host, t.Port, t.Transport))
	t.via(req, t.network())
	from := &sip.FromHeader{Address: uri(t.User, t.Host, 0, "")}
	from.Params.Add("tag", r.tag)
	r.seq++
	id, hops := sip.CallIDHeader(r.callID), sip.MaxForwardsHeader(70)
	req.AppendHeader(from)
	req.AppendHeader(&sip.ToHeader{Address: uri(t.User, t.Host, 0, "")})
	req.AppendHeader(&id)
	req.AppendHeader(&sip.CSeqHeader{SeqNo: r.seq, MethodName: sip.REGISTER})
	req.AppendHeader(&hops)
	req.AppendHeader(t.contact(t.User, t.network()))
	req.AppendHeader(generic("Expires", seconds(expires)))
	req.AppendHeader(generic("Allow", allowed))
	req.AppendHeader(generic("User-Agent", t.line.c.UserAgent))
	for _, h := range credentials {
		req.AppendHeader(h)
	}
	req.SetBody(nil)
	t.aim(req, t.network(), t.first())
	return req
}

// granted is how long the trunk keeps us: what stands at our Contact, else in Expires, else what was asked for.
func (r *registration) granted(res *sip.Response, asked int) time.Duration {
	n := asked
	if e := deltaSeconds(header(res, "expires")); e > 0 {
		n = e
	}
	for _, h := range res.GetHeaders("Contact") {
		contact, ok := h.(*sip.ContactHeader)
		if !ok || !strings.EqualFold(contact.Address.User, r.trunk.User) {
			continue
		}
		if text, ok := contact.Params.Get("expires"); ok {
			if e := deltaSeconds(text); e > 0 {
				n = e
			}
		}
	}
	return time.Duration(n) * time.Second
}

// Registration tells how it stands with a trunk's registration: "registered", "not registered: …", or "" before anything
// is known and for trunks that are not registered at.
func (c *Carrier) Registration(name string) string {
	if t := c.named(name, ""); t != nil {
		return t.registration()
	}
	return ""
}
