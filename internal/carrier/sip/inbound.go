package sip

import (
	"context"
	"sync"
	"time"

	"github.com/emiago/sipgo/sip"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sdp"
)

// ringing is an inbound call that nobody has answered yet.
type ringing struct {
	line     *Carrier
	trunk    *trunk
	req      *sip.Request
	tx       sip.ServerTransaction
	leg      *leg
	tag      string
	canceled chan struct{}
}

// onInvite takes new calls, and re-INVITEs of those in progress.
func (c *Carrier) onInvite(req *sip.Request, tx sip.ServerTransaction, t *trunk) {
	if tagOf(req.To().Params) != "" {
		c.onReinvite(req, tx)
		return
	}
	if t == nil {
		return // a stranger that knows a Call-ID; nobody answers
	}
	accept := c.taking()
	switch {
	case accept == nil || c.overloaded():
		c.refuse(req, tx, 503, "Service Unavailable", generic("Retry-After", "30"))
		return
	case header(req, "require") != "" && !lists(req, "require", "timer"):
		c.refuse(req, tx, 420, "Bad Extension", generic("Unsupported", header(req, "require")))
		return
	case req.Contact() == nil || req.Contact().Address.Host == "":
		c.refuse(req, tx, 400, "Bad Request")
		return
	case t.Challenge && !c.proven(req, t):
		c.challenge(req, tx, t)
		return
	}
	callID := string(*req.CallID())
	if e := c.enter(callID); e != nil {
		c.refuse(req, tx, 503, "Service Unavailable", generic("Retry-After", "5"))
		return
	}
	r := &ringing{line: c, trunk: t, req: req, tx: tx, tag: sip.GenerateTagN(16), canceled: make(chan struct{})}
	info := carrier.Info{
		ID: "sip-in-" + sip.GenerateTagN(16), Direction: carrier.Inbound, Speed: 1,
		From: callerNumber(req, t), To: calledNumber(req, t),
	}
	var err error
	if r.leg, err = c.newLeg(t, info, callID); err != nil {
		c.leave(callID)
		c.refuse(req, tx, 503, "Service Unavailable", generic("Retry-After", "5"))
		return
	}
	r.take(accept)
}

// refuse answers a request with an error.
func (c *Carrier) refuse(req *sip.Request, tx sip.ServerTransaction, code int, reason string, headers ...sip.Header) {
	res := sip.NewResponseFromRequest(req, code, reason, nil)
	for _, h := range headers {
		res.AppendHeader(h)
	}
	c.respond(tx, res)
}

func (c *Carrier) respond(tx sip.ServerTransaction, res *sip.Response) {
	if err := tx.Respond(res); err != nil {
		c.log.Debug("response not sent", "code", res.StatusCode, "error", scrubbed(err))
	}
}

// response answers the INVITE as this end of the dialog.
func (r *ringing) response(code int, reason string) *sip.Response {
	res := sip.NewResponseFromRequest(r.req, code, reason, nil)
	res.To().Params.Add("tag", r.tag)
	if code < 300 {
		res.AppendHeader(r.trunk.contact(r.req.Recipient.User, r.req.Transport()))
		res.AppendHeader(generic("Allow", allowed))
	}
	return res
}

// refuse ends the call before its answer.
func (r *ringing) refuse(code int, reason string) {
	res := r.response(code, reason)
	if code == 503 {
		res.AppendHeader(generic("Retry-After", "5"))
	}
	r.line.respond(r.tx, res)
	r.leg.abandon(refusal(code, 0))
}

// take decides about the call, lets it ring, and answers it. It runs until the ACK.
func (r *ringing) take(accept func(context.Context, carrier.Offer) carrier.Decision) {
	var decision carrier.Decision
	defer func() { // a defect costs the call, not its line, and whoever took it is told
		if p := recover(); p != nil {
			e := lineFailed("The call was lost by a fault on our side.")
			r.leg.abandon(e)
			tell(decision, e)
			panic(p)
		}
	}()
	var once sync.Once
	gone := func() { once.Do(func() { close(r.canceled) }) }
	if !r.tx.OnCancel(func(*sip.Request) { gone() }) || !r.tx.OnTerminate(func(string, error) { gone() }) {
		r.leg.abandon(canceled())
		return
	}
	var offer *sdp.Session
	if isSDP(r.req) {
		var err error
		if offer, err = sdp.Parse(r.req.Body()); err == nil {
			_, _, err = sdp.Answer(offer, r.leg.local)
		}
		if err != nil {
			r.refuse(488, "Not Acceptable Here")
			return
		}
	}
	reply, tooShort := r.leg.timer.ask(r.req)
	if tooShort {
		res := r.response(422, "Session Interval Too Small")
		res.AppendHeader(generic("Min-SE", seconds(r.leg.timer.least())))
		r.line.respond(r.tx, res)
		r.leg.abandon(refusal(422, 0))
		return
	}
	ctx, cancel := context.WithCancel(r.line.closing)
	defer cancel()
	go func() {
		select {
		case <-r.canceled:
			cancel()
		case <-ctx.Done():
		}
	}()
	decision = accept(ctx, carrier.Offer{ID: r.leg.info.ID, From: r.leg.info.From, To: r.leg.info.To})
	if decision.Run == nil {
		code, reason := refusalCode(decision.Refuse)
		r.refuse(code, reason)
		return
	}
	if e := r.ring(decision.Ring); e != nil {
		r.missed(decision, e)
		return
	}
	if e := r.answer(offer, reply); e != nil {
		r.missed(decision, e)
		return
	}
	leg := r.leg
	if !r.line.hold(func(ctx context.Context) { decision.Run(ctx, leg) }) {
		leg.hangUp(draining())
		tell(decision, draining())
	}
}

func (r *ringing) missed(d carrier.Decision, e *carrier.Ended) {
	r.leg.abandon(e)
	tell(d, e)
}

func tell(d carrier.Decision, e *carrier.Ended) {
	if d.Missed != nil {
		d.Missed(e)
	}
}

// ring lets the caller hear ringing for d; an Ended when the caller gave up meanwhile.
func (r *ringing) ring(d time.Duration) *carrier.Ended {
	select {
	case <-r.canceled:
		return gaveUp()
	default:
	}
	r.line.respond(r.tx, r.response(180, "Ringing"))
	timer := time.NewTimer(d)
	defer timer.Stop()
	again := time.NewTicker(time.Minute) // RFC 3261 §13.3.1.1: proxies forget after three minutes
	defer again.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-again.C:
			r.line.respond(r.tx, r.response(180, "Ringing"))
		case <-r.canceled:
			return gaveUp()
		case <-r.line.leaving.Done(): // whoever answered it would have nobody to hand it to
			res := r.response(503, "Service Unavailable")
			res.AppendHeader(generic("Retry-After", "5"))
			r.line.respond(r.tx, res)
			return draining()
		}
	}
}

// answer sends the 2xx and waits for its ACK: the caller is there from then on. offer is nil when the INVITE had none;
// ours is in the 2xx then, and the answer in the ACK.
func (r *ringing) answer(offer *sdp.Session, session string) *carrier.Ended {
	l := r.leg
	d := &dialog{
		callID: string(*r.req.CallID()), localTag: r.tag, remoteTag: tagOf(r.req.From().Params),
		local: *r.req.To().Address.Clone(), remote: *r.req.From().Address.Clone(), transport: r.req.Transport(),
		peer: r.req.Source(), trunk: r.trunk, remoteSeq: r.req.CSeq().SeqNo, localSeq: uint32(time.Now().Unix() & 0xffff),
	}
	for _, h := range r.req.GetHeaders("Record-Route") {
		if rr, ok := h.(*sip.RecordRouteHeader); ok {
			d.routes = append(d.routes, *rr.Address.Clone())
		}
	}
	if err := d.retarget(r.req); err != nil {
		r.line.respond(r.tx, r.response(400, "Bad Request"))
		return lineFailed("The call made no sense.")
	}
	var spoken *sdp.Session
	var agreed *sdp.Agreed
	if offer != nil {
		spoken, agreed, _ = sdp.Answer(offer, l.local) // it was tried before
	} else {
		spoken = sdp.Offer(l.local)
	}
	res := r.response(200, "OK")
	res.AppendHeader(generic("Supported", "timer"))
	if session != "" {
		res.AppendHeader(generic("Session-Expires", session))
		if lists(r.req, "supported", "timer") {
			res.AppendHeader(generic("Require", "timer"))
		}
	}
	setBody(res, "application/sdp", spoken.Marshal())
	l.begin(d, 0)
	defer l.settle()()
	ack, e := l.insist(r.tx, res, r.canceled)
	switch {
	case e != nil && e.Reason == carrier.ReasonHangup: // BYE was faster than the ACK
		return gaveUp()
	case e != nil:
		return e
	}
	if agreed == nil {
		answer, err := sdp.Parse(ack.Body())
		if err == nil {
			agreed, err = sdp.Accept(spoken, answer)
		}
		if err != nil {
			l.bye()
			return noCodec(0)
		}
	}
	err := l.settleMedia(agreed, spoken)
	switch {
	case l.feed.Over() != nil: // hung up in the moment of the answer; there is nobody to tell
		return gaveUp()
	case err != nil:
		l.bye()
		return noCodec(0)
	}
	l.timer.start()
	return nil
}

// settle begins the time between a 2xx and what follows from its ACK; the result ends it. The stack hands on messages
// side by side: a BYE right behind the ACK waits for that.
func (l *leg) settle() func() {
	done := make(chan struct{})
	l.mu.Lock()
	l.settling = done
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		l.settling = nil
		l.mu.Unlock()
		close(done)
	}
}

// overtaking is how long a BYE waits for the ACK that was sent before it.
const overtaking = 200 * time.Millisecond

func (l *leg) settled() {
	l.mu.Lock()
	done := l.settling
	l.mu.Unlock()
	if done == nil {
		return
	}
	timer := time.NewTimer(overtaking)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// insist sends a 2xx until it is acknowledged. Without an ACK within 32 s the call is ended (RFC 3261 §13.3.1.4).
func (l *leg) insist(tx sip.ServerTransaction, res *sip.Response, canceled <-chan struct{}) (*sip.Request, *carrier.Ended) {
	acks := make(chan *sip.Request, 1)
	l.mu.Lock()
	l.acks = acks
	l.mu.Unlock()
	defer func() { l.mu.Lock(); l.acks = nil; l.mu.Unlock() }()
	if err := tx.Respond(res); err != nil {
		select {
		case <-canceled: // the CANCEL was faster than the answer
			return nil, gaveUp()
		default:
		}
		return nil, lineFailed("The answer could not be sent.")
	}
	pause := sip.T1
	again := time.NewTimer(pause)
	defer again.Stop()
	limit := time.NewTimer(64 * sip.T1)
	defer limit.Stop()
	for {
		select {
		case ack := <-acks:
			return ack, nil
		case ack := <-tx.Acks():
			return ack, nil
		case <-again.C:
			_ = tx.Respond(res)
			pause = min(2*pause, sip.T2)
			again.Reset(pause)
		case <-limit.C:
			l.bye()
			return nil, lineFailed("The caller's side did not confirm the answer.")
		case <-l.feed.Done():
			return nil, carrier.EndedOf(l.feed.Over())
		case <-l.line.closing.Done():
			return nil, draining()
		}
	}
}

// onAck confirms a 2xx of ours.
func (c *Carrier) onAck(req *sip.Request, _ sip.ServerTransaction, _ *trunk) {
	l := c.find(req)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acks != nil {
		select {
		case l.acks <- req:
		default:
		}
	}
}

// onCancel is a CANCEL that came too late, or for nothing: the stack has answered those in time.
func (c *Carrier) onCancel(req *sip.Request, tx sip.ServerTransaction, _ *trunk) {
	c.refuse(req, tx, 481, "Call/Transaction Does Not Exist")
}
