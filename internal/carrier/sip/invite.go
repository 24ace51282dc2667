package sip

import (
	"context"
	"errors"
	"time"

	"github.com/emiago/sipgo/sip"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sdp"
)

// attempt is a call on its way out by one trunk.
type attempt struct {
	line  *Carrier
	trunk *trunk
	leg   *leg
	d     *dialog
	to    sip.Uri
	offer *sdp.Session
	on    func(carrier.Progress)

	minSE     int
	sent      *sip.Request
	answer    []byte // description of a provisional response, for an answer without one
	answerTag string
	rung      bool
}

// Dial is that of carrier.Carrier.
func (c *Carrier) Dial(ctx context.Context, r carrier.Request, on func(carrier.Progress)) (carrier.Leg, error) {
	select {
	case <-c.started:
	case <-ctx.Done():
		return nil, canceled()
	}
	if r.RingTimeout <= 0 {
		r.RingTimeout = 30 * time.Second
	}
	if on == nil {
		on = func(carrier.Progress) {}
	}
	ended := unreachable()
	var retry time.Duration
	for _, t := range c.order(r.From) {
		leg, e := c.attempt(ctx, t, r, on)
		if e != nil && elsewhere(e) && e.Code == 0 && t.another() {
			leg, e = c.attempt(ctx, t, r, on)
		}
		if e == nil {
			return leg, nil
		}
		ended = e
		c.log.InfoContext(ctx, "call not connected", "call", r.CallID, "trunk", t.Name, "reason", e.Reason, "code", e.Code)
		if !elsewhere(e) {
			break
		}
		t.fail(e.RetryAfter)
		if e.RetryAfter > 0 && (retry == 0 || e.RetryAfter < retry) {
			retry = e.RetryAfter
		}
	}
	if elsewhere(ended) {
		ended.RetryAfter = retry // the first trunk that may be tried again
	}
	return nil, ended
}

// attempt tries one trunk. The leg is nil when there is an Ended.
func (c *Carrier) attempt(ctx context.Context, t *trunk, r carrier.Request, on func(carrier.Progress)) (*leg, *carrier.Ended) {
	callID := r.CallID + "-" + sip.GenerateTagN(8)
	if e := c.enter(callID); e != nil {
		return nil, e
	}
	host, addr := t.ours()
	l, err := c.newLeg(t, carrier.Info{ID: "sip-" + r.CallID, Direction: carrier.Outbound, From: r.From, To: r.To, Speed: 1}, callID)
	if err != nil {
		c.leave(callID)
		return nil, &carrier.Ended{Class: carrier.ClassServer, Reason: carrier.ReasonCarrierError, Message: "All ports for sound are taken."}
	}
	l.local.Addr = addr
	a := &attempt{line: c, trunk: t, leg: l, on: on, to: uri(t.dialed(r.To), t.Host, t.Port, t.Transport)}
	if t.User != "" { // who registers belongs to the trunk's domain
		host = t.Host
	}
	a.d = &dialog{
		callID: callID, localTag: sip.GenerateTagN(16), localSeq: uint32(time.Now().Unix() & 0xffff),
		local: uri(t.dialed(r.From), host, 0, ""), remote: uri(t.dialed(r.To), t.Host, 0, ""), target: a.to, transport: t.network(), trunk: t,
		first: t.first(),
	}
	l.local.Direction = sdp.SendRecv
	a.offer = sdp.Offer(l.local)
	if e := a.run(ctx, r.RingTimeout); e != nil {
		l.abandon(e)
		return nil, e
	}
	return l, nil
}

// invite makes the INVITE with what credentials there are.
func (a *attempt) invite(credentials []sip.Header) *sip.Request {
	req := a.d.request(sip.INVITE)
	req.AppendHeader(a.trunk.contact(a.d.local.User, a.d.transport))
	req.AppendHeader(generic("Allow", allowed))
	req.AppendHeader(generic("Supported", "timer"))
	a.leg.timer.offer(req, a.minSE)
	req.AppendHeader(generic("User-Agent", a.line.c.UserAgent))
	for _, h := range credentials {
		req.AppendHeader(h)
	}
	setBody(req, "application/sdp", a.offer.Marshal())
	return req
}

// run sends the INVITE, again where the trunk asks for credentials or other terms, until there is a final word.
func (a *attempt) run(ctx context.Context, ring time.Duration) *carrier.Ended {
	ringing := time.NewTimer(ring)
	defer ringing.Stop()
	var credentials []sip.Header
	for tries := 0; ; tries++ {
		a.sent = a.invite(credentials)
		tx, err := a.line.send(ctx, a.sent)
		if err != nil {
			if ctx.Err() != nil {
				return canceled()
			}
			a.line.log.WarnContext(ctx, "trunk not reached", "trunk", a.trunk.Name, "error", err)
			return unreachable()
		}
		res, e := a.wait(ctx, tx, ringing, ring)
		if e != nil {
			return e
		}
		if res.IsSuccess() {
			a.d.credentials = credentials
			return a.answered(tx, res)
		}
		switch {
		case tries < 3 && challenged(res) && (len(credentials) == 0 || stale(res)):
			h, err := answerChallenge(a.trunk, a.sent, res)
			if err != nil {
				a.line.log.WarnContext(ctx, "trunk not satisfied", "trunk", a.trunk.Name, "error", err)
				return refusal(res.StatusCode, 0)
			}
			credentials = []sip.Header{h}
		case tries < 3 && res.StatusCode == 422 && a.minSE == 0:
			a.minSE = deltaSeconds(header(res, "min-se"))
		default:
			return refusal(res.StatusCode, retryAfter(res))
		}
	}
}

// wait follows one INVITE transaction to its final response. An Ended is an end without one; the transaction is taken
// back then, or given up.
func (a *attempt) wait(ctx context.Context, tx *sip.ClientTx, ringing *time.Timer, ring time.Duration) (*sip.Response, *carrier.Ended) {
	silence := time.NewTimer(a.line.c.Silence)
	defer silence.Stop()
	heard := false
	for {
		select {
		case res := <-tx.Responses():
			silence.Stop()
			heard = true
			if !res.IsProvisional() {
				return res, nil
			}
			a.progress(res, ringing, ring)
		case <-silence.C:
			if !heard {
				tx.Terminate()
				return nil, silent()
			}
		case <-tx.Done():
			if ctx.Err() != nil {
				return nil, canceled()
			}
			e := unreachable()
			if a.rung { // it may ring on: nobody is rung again by another trunk
				e.Code = 180
			}
			return nil, e
		case <-ringing.C:
			a.takeBack(tx, heard)
			return nil, noAnswer()
		case <-ctx.Done():
			a.takeBack(tx, heard)
			return nil, canceled()
		}
	}
}

// progress tells of ringing and of early sound.
func (a *attempt) progress(res *sip.Response, ringing *time.Timer, ring time.Duration) {
	if res.StatusCode == 100 {
		return
	}
	if !a.rung && (res.StatusCode == 180 || res.StatusCode == 183) { // it rings from now on
		a.rung = true
		ringing.Reset(ring)
	}
	if !isSDP(res) {
		a.on(carrier.ProgressRinging)
		return
	}
	answer, err := sdp.Parse(res.Body())
	if err != nil {
		return
	}
	agreed, err := sdp.Accept(a.offer, answer)
	if err != nil {
		return
	}
	a.answer, a.answerTag = res.Body(), tagOf(res.To().Params)
	if err := a.leg.stream.Early(a.leg.params(agreed)); err == nil {
		a.on(carrier.ProgressEarlyMedia)
	}
}

// answered makes the leg of a 2xx. Whatever is wrong with it, it is acknowledged, and ended if it can not be used.
func (a *attempt) answered(tx *sip.ClientTx, res *sip.Response) *carrier.Ended {
	if err := a.d.answered(res); err != nil {
		tx.Terminate()
		a.line.dismiss(a.trunk, res)
		e := lineFailed("The answer of the telephone provider made no sense.")
		e.Code = res.StatusCode // somebody has answered: nobody is rung again by another trunk
		return e
	}
	body := res.Body()
	if !isSDP(res) && a.answerTag == a.d.remoteTag {
		body = a.answer
	}
	l, seq := a.leg, a.d.localSeq
	l.begin(a.d, seq)
	tx.OnRetransmission(a.line.guardResponse(func(again *sip.Response) { // our ACK was lost, or there is a second phone
		if tagOf(again.To().Params) == l.remoteTag() {
			l.acknowledge(seq)
			return
		}
		a.line.dismiss(a.trunk, again)
	}))
	l.acknowledge(seq)
	agreed, err := a.agree(body)
	if err == nil {
		err = l.settleMedia(agreed, a.offer)
	}
	if err != nil {
		l.bye()
		return noCodec(0)
	}
	l.timer.answer(res)
	l.timer.start()
	return nil
}

func (a *attempt) agree(body []byte) (*sdp.Agreed, error) {
	answer, err := sdp.Parse(body)
	if err != nil {
		return nil, err
	}
	return sdp.Accept(a.offer, answer)
}

// takeBack cancels an INVITE in the background: as soon as there was any response, as RFC 3261 §9.1 wants it. An answer
// that crossed the CANCEL is acknowledged and hung up.
func (a *attempt) takeBack(tx *sip.ClientTx, heard bool) {
	callID := a.d.callID
	a.line.remember(callID) // its messages must pass the gate until this is over
	a.line.background(func(ctx context.Context) {
		defer a.line.forget(callID)
		a.cancel(ctx, tx, heard)
	})
}

func (a *attempt) cancel(ctx context.Context, tx *sip.ClientTx, heard bool) {
	limit := time.NewTimer(cancelTimeout)
	defer limit.Stop()
	if heard {
		a.sendCancel(ctx)
	}
	for {
		select {
		case res := <-tx.Responses():
			switch {
			case res.IsProvisional() && !heard:
				heard = true
				a.sendCancel(ctx)
			case res.IsSuccess():
				tx.OnRetransmission(a.line.guardResponse(func(again *sip.Response) { a.line.dismiss(a.trunk, again) }))
				a.line.dismiss(a.trunk, res)
				return
			case !res.IsProvisional():
				return
			}
		case <-tx.Done():
			return
		case <-limit.C:
			tx.Terminate()
			return
		case <-ctx.Done():
			tx.Terminate()
			return
		}
	}
}

// cancelTimeout is how long a canceled INVITE may take to end. An answer after it is found by stray.
const cancelTimeout = 32 * time.Second

func (a *attempt) sendCancel(ctx context.Context) {
	req := sip.NewRequest(sip.CANCEL, a.sent.Recipient)
	req.AppendHeader(a.sent.Via().Clone())
	for _, h := range a.sent.GetHeaders("Route") {
		req.AppendHeader(sip.HeaderClone(h))
	}
	hops := sip.MaxForwardsHeader(70)
	req.AppendHeader(&hops)
	for _, h := range []sip.Header{a.sent.From(), a.sent.To(), a.sent.CallID()} {
		req.AppendHeader(sip.HeaderClone(h))
	}
	req.AppendHeader(&sip.CSeqHeader{SeqNo: a.sent.CSeq().SeqNo, MethodName: sip.CANCEL})
	req.SetBody(nil)
	a.trunk.aim(req, a.d.transport, a.sent.Destination())
	a.line.background(func(ctx context.Context) { _, _ = a.line.exchange(ctx, req) })
}

// stray gets responses that belong to no transaction any more. An answer to an INVITE is acknowledged again when its
// call is in progress, and hung up when nobody waits for it.
func (c *Carrier) stray(res *sip.Response) {
	if res.CSeq() == nil || res.CSeq().MethodName != sip.INVITE || !res.IsSuccess() {
		return
	}
	c.mu.Lock()
	l := c.legs[dialogKey{string(*res.CallID()), tagOf(res.From().Params)}]
	c.mu.Unlock()
	if l != nil && l.remoteTag() == tagOf(res.To().Params) {
		l.acknowledge(res.CSeq().SeqNo)
		return
	}
	from := addrPort(res.Source())
	if t := c.trunkOf(from); t != nil {
		c.dismiss(t, res)
	}
}

// dismiss acknowledges and ends a call that was answered though nobody wants it any more.
func (c *Carrier) dismiss(t *trunk, res *sip.Response) {
	d := &dialog{
		callID: string(*res.CallID()), localTag: tagOf(res.From().Params), localSeq: res.CSeq().SeqNo,
		local: *res.From().Address.Clone(), remote: *res.To().Address.Clone(), transport: res.Transport(), trunk: t,
	}
	if err := d.answered(res); err != nil {
		return
	}
	c.write(d.ack(d.localSeq))
	c.background(func(ctx context.Context) { c.sayBye(ctx, d) })
}

// write sends what has no transaction.
func (c *Carrier) write(req *sip.Request) {
	if err := c.ua.TransportLayer().WriteMsg(req); err != nil {
		c.log.Debug("not sent", "method", string(req.Method), "error", scrubbed(err))
	}
}

// sayBye ends a dialog that belongs to nobody else.
func (c *Carrier) sayBye(ctx context.Context, d *dialog) error {
	ctx, cancel := context.WithTimeout(ctx, 32*time.Second)
	defer cancel()
	res, err := c.ask(ctx, d.trunk, func(credentials ...sip.Header) *sip.Request {
		req := d.request(sip.BYE)
		for _, h := range credentials {
			req.AppendHeader(h)
		}
		return req
	})
	switch {
	case err != nil:
		return err
	case res.IsSuccess() || res.StatusCode == 481 || res.StatusCode == 408:
		return nil
	}
	return errors.New("BYE was refused with " + seconds(res.StatusCode))
}
