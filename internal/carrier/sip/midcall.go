package sip

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/emiago/sipgo/sip"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/sdp"
)

// within finds the call of a request, and answers those that have none or come out of order.
func (c *Carrier) within(req *sip.Request, tx sip.ServerTransaction) *leg {
	l := c.find(req)
	if l == nil {
		c.refuse(req, tx, 481, "Call/Transaction Does Not Exist")
		return nil
	}
	l.mu.Lock()
	ok := l.d.follows(req)
	l.mu.Unlock()
	if !ok {
		c.refuse(req, tx, 500, "Server Internal Error")
		return nil
	}
	return l
}

// onBye ends a call: the other side hung up.
func (c *Carrier) onBye(req *sip.Request, tx sip.ServerTransaction, _ *trunk) {
	l := c.find(req)
	if l == nil {
		c.refuse(req, tx, 481, "Call/Transaction Does Not Exist")
		return
	}
	c.respond(tx, sip.NewResponseFromRequest(req, 200, "OK", nil))
	l.settled()
	l.mu.Lock()
	handed := l.refer != nil
	l.mu.Unlock()
	ended := &carrier.Ended{Class: carrier.ClassSuccess, Reason: carrier.ReasonHangup, Message: "The other side hung up."}
	if handed { // it leaves because it was asked to
		ended = transferred()
	}
	if l.end(ended) {
		l.leave()
	}
}

// onReinvite changes a call in progress: hold, another address or codec, a late offer, or only a sign of life.
func (c *Carrier) onReinvite(req *sip.Request, tx sip.ServerTransaction) {
	l := c.within(req, tx)
	if l == nil {
		return
	}
	l.mu.Lock()
	busy := l.inviting || l.acks != nil
	if !busy {
		l.inviting = true
	}
	l.mu.Unlock()
	if busy || l.feed.Over() != nil {
		c.refuse(req, tx, 491, "Request Pending")
		return
	}
	defer func() { l.mu.Lock(); l.inviting = false; l.mu.Unlock() }()
	res, spoken, agreed := l.change(req)
	if spoken == nil || res.StatusCode >= 300 {
		c.respond(tx, res)
		return
	}
	defer l.settle()()
	ack, ended := l.insist(tx, res, nil)
	if ended != nil {
		l.end(ended) // insist has said BYE
		return
	}
	if agreed == nil {
		answer, err := sdp.Parse(ack.Body())
		if err == nil {
			agreed, err = sdp.Accept(spoken, answer)
		}
		if err != nil {
			l.hangUp(noCodec(0))
			return
		}
		l.adopt(agreed, spoken)
	}
	l.timer.start()
}

// onUpdate is the same without an ACK (RFC 3311), and without late offers.
func (c *Carrier) onUpdate(req *sip.Request, tx sip.ServerTransaction, _ *trunk) {
	l := c.within(req, tx)
	if l == nil {
		return
	}
	l.mu.Lock()
	busy := l.inviting
	l.mu.Unlock()
	if busy && isSDP(req) {
		c.refuse(req, tx, 491, "Request Pending")
		return
	}
	res, _, _ := l.change(req)
	c.respond(tx, res)
	if res.IsSuccess() {
		l.timer.start()
	}
}

// change takes what a re-INVITE or UPDATE wants and makes the answer. spoken is our description in it; agreed is nil
// when spoken is an offer, whose answer comes with the ACK.
func (l *leg) change(req *sip.Request) (res *sip.Response, spoken *sdp.Session, agreed *sdp.Agreed) {
	reply, tooShort := l.timer.ask(req)
	if tooShort {
		res = sip.NewResponseFromRequest(req, 422, "Session Interval Too Small", nil)
		res.AppendHeader(generic("Min-SE", seconds(l.timer.least())))
		return res, nil, nil
	}
	switch {
	case isSDP(req):
		offer, err := sdp.Parse(req.Body())
		if err == nil {
			spoken, agreed, err = l.consider(offer)
		}
		if err != nil { // the call goes on as it was
			return sip.NewResponseFromRequest(req, 488, "Not Acceptable Here", nil), nil, nil
		}
	case req.IsInvite():
		l.mu.Lock()
		spoken = l.offer()
		l.mu.Unlock()
	}
	l.mu.Lock()
	_ = l.d.retarget(req)
	contact := l.trunk.contact(l.d.local.User, l.d.transport)
	l.mu.Unlock()
	if agreed != nil {
		l.adopt(agreed, spoken)
	}
	res = sip.NewResponseFromRequest(req, 200, "OK", nil)
	res.AppendHeader(contact)
	res.AppendHeader(generic("Allow", allowed))
	if reply != "" {
		res.AppendHeader(generic("Session-Expires", reply))
		if lists(req, "supported", "timer") {
			res.AppendHeader(generic("Require", "timer"))
		}
	}
	if spoken != nil {
		setBody(res, "application/sdp", spoken.Marshal())
	}
	return res, spoken, agreed
}

// offer is our description as it stands, for an offer in the middle of a call: one that is encrypted stays so. Called
// with mu held.
func (l *leg) offer() *sdp.Session {
	local := l.local
	if l.agreed != nil && l.agreed.Suite != "" {
		local.SRTP = sdp.SRTPRequired
	}
	return l.versioned(sdp.Offer(local))
}

// versioned gives a description the next version if it says something new (RFC 3264 §8). Called with mu held.
func (l *leg) versioned(s *sdp.Session) *sdp.Session {
	if !bytes.Equal(s.Marshal(), l.spoken) {
		l.local.Version++
		s.Version = l.local.Version
	}
	return s
}

// consider answers an offer.
func (l *leg) consider(offer *sdp.Session) (*sdp.Session, *sdp.Agreed, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	spoken, agreed, err := sdp.Answer(offer, l.local)
	if err != nil {
		return nil, nil, err
	}
	return l.versioned(spoken), agreed, nil
}

// adopt makes the sound what was agreed on, and tells of hold.
func (l *leg) adopt(agreed *sdp.Agreed, spoken *sdp.Session) {
	l.mu.Lock()
	was := l.held
	l.agreed, l.held, l.spoken = agreed, agreed.Held, spoken.Marshal()
	err := l.stream.Update(l.params(agreed))
	l.mu.Unlock()
	if err != nil {
		l.line.log.Warn("sound not changed", "call", l.info.ID, "error", err)
	}
	kind := carrier.EventResume
	if agreed.Held {
		kind = carrier.EventHold
	}
	if was != agreed.Held {
		l.feed.Emit(carrier.Event{Kind: kind, At: l.stream.At()})
	}
}

// onInfo takes digits (application/dtmf-relay and application/dtmf); other INFOs are answered and mean nothing.
func (c *Carrier) onInfo(req *sip.Request, tx sip.ServerTransaction, _ *trunk) {
	l := c.within(req, tx)
	if l == nil {
		return
	}
	kind, _, _ := strings.Cut(strings.ToLower(header(req, "content-type")), ";")
	digit := ""
	switch strings.TrimSpace(kind) {
	case "application/dtmf-relay":
		for line := range strings.Lines(string(req.Body())) {
			if name, value, ok := strings.Cut(line, "="); ok && strings.EqualFold(strings.TrimSpace(name), "signal") {
				digit = strings.TrimSpace(value)
			}
		}
	case "application/dtmf":
		digit = strings.TrimSpace(string(req.Body()))
	case "":
	default:
		c.refuse(req, tx, 415, "Unsupported Media Type", generic("Accept", "application/dtmf-relay, application/dtmf"))
		return
	}
	c.respond(tx, sip.NewResponseFromRequest(req, 200, "OK", nil))
	if digit = digitOf(digit); digit != "" && l.fresh(digit, "info") {
		l.feed.Emit(carrier.Event{Kind: carrier.EventDigits, At: l.stream.At(), Digits: digit})
	}
}

// digitOf is a digit as it is written: also 10 and 11, which some lines mean * and # by.
func digitOf(text string) string {
	text = strings.ToUpper(text)
	switch text {
	case "10":
		return "*"
	case "11":
		return "#"
	}
	if len(text) == 1 && strings.Contains("0123456789*#ABCD", text) {
		return text
	}
	return ""
}

// onNotify tells a transfer how it goes: message/sipfrag with a status line.
func (c *Carrier) onNotify(req *sip.Request, tx sip.ServerTransaction, _ *trunk) {
	l := c.within(req, tx)
	if l == nil {
		return
	}
	c.respond(tx, sip.NewResponseFromRequest(req, 200, "OK", nil))
	event, _, _ := strings.Cut(header(req, "event"), ";")
	if !strings.EqualFold(strings.TrimSpace(event), "refer") {
		return
	}
	line, _, _ := strings.Cut(string(req.Body()), "\r\n")
	f := strings.Fields(line)
	if len(f) < 2 || !strings.HasPrefix(f[0], "SIP/") {
		return
	}
	code, err := strconv.Atoi(f[1])
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refer != nil {
		select {
		case l.refer <- code:
		default:
		}
	}
}

// onRefer declines: nobody sends our calls anywhere.
func (c *Carrier) onRefer(req *sip.Request, tx sip.ServerTransaction, _ *trunk) {
	if c.within(req, tx) != nil {
		c.refuse(req, tx, 603, "Decline")
	}
}

// onOptions tells that we are there, or that we are about to go.
func (c *Carrier) onOptions(req *sip.Request, tx sip.ServerTransaction, t *trunk) {
	if tagOf(req.To().Params) == "" && (c.taking() == nil || c.overloaded()) {
		c.refuse(req, tx, 503, "Service Unavailable", generic("Retry-After", "30"))
		return
	}
	res := sip.NewResponseFromRequest(req, 200, "OK", nil)
	res.AppendHeader(generic("Allow", allowed))
	res.AppendHeader(generic("Accept", "application/sdp"))
	res.AppendHeader(generic("Supported", "timer"))
	c.respond(tx, res)
}

// onOther is every method that we do not have.
func (c *Carrier) onOther(req *sip.Request, tx sip.ServerTransaction, _ *trunk) {
	c.refuse(req, tx, 405, "Method Not Allowed", generic("Allow", allowed))
}

// renew is a sign of life of ours: UPDATE where the other side takes it, else a re-INVITE with our description as it is.
func (l *leg) renew(ctx context.Context, update bool) (*sip.Response, error) {
	if update {
		return l.request(ctx, sip.UPDATE, func(req *sip.Request) {
			req.AppendHeader(generic("Supported", "timer"))
			l.timer.again(req)
		})
	}
	return l.reinvite(ctx)
}

// reinvite sends our description again and takes what the other side says now.
func (l *leg) reinvite(ctx context.Context) (*sip.Response, error) {
	l.mu.Lock()
	busy := l.inviting
	l.inviting = true
	l.mu.Unlock()
	if busy {
		return sip.NewResponse(491, "Request Pending"), nil
	}
	defer func() { l.mu.Lock(); l.inviting = false; l.mu.Unlock() }()
	l.mu.Lock()
	offer := l.offer()
	l.mu.Unlock()
	var seq uint32
	res, err := l.request(ctx, sip.INVITE, func(req *sip.Request) {
		req.AppendHeader(generic("Allow", allowed))
		req.AppendHeader(generic("Supported", "timer"))
		l.timer.again(req)
		setBody(req, "application/sdp", offer.Marshal())
		seq = req.CSeq().SeqNo
	})
	if err != nil || !res.IsSuccess() {
		return res, err
	}
	l.mu.Lock()
	_ = l.d.retarget(res)
	l.acked = l.d.ack(seq)
	l.mu.Unlock()
	l.acknowledge(seq)
	if answer, err := sdp.Parse(res.Body()); err == nil {
		if agreed, err := sdp.Accept(offer, answer); err == nil {
			l.adopt(agreed, offer)
		}
	}
	return res, nil
}
