package sip

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"sync"
	"time"

	"github.com/emiago/sipgo/sip"

	"github.com/callwright/callwright/internal/carrier"
	"github.com/callwright/callwright/internal/carrier/rtp"
	"github.com/callwright/callwright/internal/carrier/sdp"
)

// leg is one call, from its first message on; it is a carrier.Leg once it is answered.
type leg struct {
	line   *Carrier
	trunk  *trunk
	info   carrier.Info
	feed   *carrier.Feed
	stream *rtp.Stream
	timer  *sessionTimer
	key    dialogKey
	callID string
	left   sync.Once

	mu       sync.Mutex
	d        *dialog
	local    sdp.Local
	spoken   []byte // our last description
	agreed   *sdp.Agreed
	held     bool
	acked    *sip.Request      // of the 2xx to our INVITE; made once, sent as often as the answer comes
	acks     chan *sip.Request // of the other side, for the 2xx that waits for one
	settling chan struct{}     // closed when our 2xx is acknowledged and what it agreed on is done; nil when none is out
	inviting bool              // a re-INVITE is under way, either way
	refer    chan int          // codes of NOTIFY while a transfer runs; nil otherwise
	pressed  pressed
}

// newLeg takes ports for a call's sound.
func (c *Carrier) newLeg(t *trunk, info carrier.Info, callID string) (*leg, error) {
	_, addr := t.ours()
	l := &leg{
		line: c, trunk: t, info: info, feed: carrier.NewFeed(), callID: callID,
		local: sdp.Local{Addr: addr, ID: uint64(time.Now().Unix()), Version: 1, SRTP: t.SRTP, Direction: sdp.SendRecv},
	}
	l.timer = &sessionTimer{leg: l}
	if t.SRTP != sdp.SRTPOff {
		l.local.Key = sdp.NewKey()
	}
	var err error
	if l.stream, err = c.ports.Stream(rtp.Handlers{Event: l.heard, Timeout: l.silenced}); err != nil {
		return nil, err
	}
	l.local.Port = int(l.stream.Port())
	return l, nil
}

// abandon gives back what a call without an answer had taken.
func (l *leg) abandon(e *carrier.Ended) {
	l.stream.Close(e)
	l.feed.End(carrier.Event{Ended: e})
	l.leave()
}

func (l *leg) leave() {
	l.left.Do(func() {
		l.line.remove(l)
		l.line.leave(l.callID)
	})
}

// begin makes the leg findable for requests of its dialog.
func (l *leg) begin(d *dialog, inviteSeq uint32) {
	l.mu.Lock()
	l.d, l.key = d, d.key()
	if l.info.Direction == carrier.Outbound {
		l.acked = d.ack(inviteSeq)
	}
	l.mu.Unlock()
	l.line.add(l)
}

// settleMedia starts the sound as it was agreed on, and completes Info.
func (l *leg) settleMedia(agreed *sdp.Agreed, spoken *sdp.Session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agreed, l.held = agreed, agreed.Held
	l.spoken = spoken.Marshal()
	l.info.Codec = agreed.Codec
	l.info.State = l.d.state()
	return l.stream.Start(l.params(agreed))
}

// params is what was agreed on in the words of the sound.
func (l *leg) params(a *sdp.Agreed) rtp.Params {
	p := rtp.Params{
		Remote: a.Remote, RemoteRTCP: a.RemoteRTCP, Codec: codecOf(a.Codec), NAT: l.trunk.NAT,
		SendDigits: a.SendEvents, ReceiveDigits: a.ReceiveEvents, Direction: directionOf(a.Direction),
	}
	if l.d != nil { // not yet while it rings
		p.Peer = addrOf(l.d.peer)
	}
	for _, name := range a.Accepts {
		p.Accept = append(p.Accept, codecOf(name))
	}
	if a.Suite != "" {
		p.SendKeys = &rtp.Keys{Suite: rtp.Suite(a.Suite), Key: a.LocalKey}
		p.ReceiveKeys = &rtp.Keys{Suite: rtp.Suite(a.Suite), Key: a.RemoteKey}
	}
	return p
}

func codecOf(name string) rtp.Codec {
	if name == "PCMA" {
		return rtp.PCMA
	}
	return rtp.PCMU
}

func directionOf(d sdp.Direction) rtp.Direction {
	switch d {
	case sdp.SendOnly:
		return rtp.SendOnly
	case sdp.RecvOnly:
		return rtp.RecvOnly
	case sdp.Inactive:
		return rtp.Inactive
	}
	return rtp.SendRecv
}

func (l *leg) Info() carrier.Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.info
}

func (l *leg) Media() carrier.Media         { return l.stream.Media() }
func (l *leg) Events() <-chan carrier.Event { return l.feed.Events() }

func (l *leg) remoteTag() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.d == nil {
		return ""
	}
	return l.d.remoteTag
}

// acknowledge sends the ACK of our INVITE; again for each time that the answer comes again.
func (l *leg) acknowledge(seq uint32) {
	l.mu.Lock()
	ack := l.acked
	l.mu.Unlock()
	if ack != nil && ack.CSeq().SeqNo == seq {
		l.line.write(ack.Clone())
	}
}

// heard passes on what the sound tells. It runs on the sound's clock.
func (l *leg) heard(e carrier.Event) {
	if e.Kind == carrier.EventDigits && !l.fresh(e.Digits, "rtp") {
		return
	}
	l.feed.Emit(e)
}

// silenced ends the call when no sound comes any more. It runs on the sound's clock.
func (l *leg) silenced(e *carrier.Ended) { go l.hangUp(e) }

// digitString are the digits that can be sent.
var digitString = regexp.MustCompile(`^[0-9*#A-Dw]{1,64}$`)

func (l *leg) SendDigits(ctx context.Context, digits string) error {
	if ended := l.feed.Over(); ended != nil {
		return ended
	}
	if !l.trunk.Info {
		return l.stream.SendDigits(ctx, digits)
	}
	if !digitString.MatchString(digits) {
		return fmt.Errorf("%q are no digits", digits)
	}
	for _, digit := range digits {
		if digit == 'w' {
			if err := l.pause(ctx, 500*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		body := fmt.Sprintf("Signal=%c\r\nDuration=160\r\n", digit)
		res, err := l.request(ctx, sip.INFO, func(req *sip.Request) { setBody(req, "application/dtmf-relay", []byte(body)) })
		if err != nil {
			return err
		}
		if !res.IsSuccess() {
			return fmt.Errorf("the line refused a digit (SIP %d)", res.StatusCode)
		}
		if err := l.pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (l *leg) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-l.feed.Done():
		return l.feed.Over()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request sends a request within the call, with credentials if they are asked for.
func (l *leg) request(ctx context.Context, method sip.RequestMethod, dress func(*sip.Request)) (*sip.Response, error) {
	res, err := l.line.ask(ctx, l.trunk, func(credentials ...sip.Header) *sip.Request {
		l.mu.Lock()
		req := l.d.request(method)
		if method != sip.BYE && method != sip.INFO {
			req.AppendHeader(l.trunk.contact(l.d.local.User, l.d.transport))
		}
		l.mu.Unlock()
		for _, h := range credentials {
			req.AppendHeader(h)
		}
		if dress != nil {
			dress(req)
		}
		return req
	})
	if err == nil && (res.StatusCode == 481 || res.StatusCode == 408) && method != sip.BYE { // RFC 3261 §12.2.1.2
		if l.end(lineFailed("The other side does not know the call any more.")) {
			l.leave()
		}
	}
	return res, err
}

// Hangup is that of carrier.Leg.
func (l *leg) Hangup(_ context.Context, cause carrier.Cause) error {
	l.hangUp(&carrier.Ended{Class: carrier.ClassSuccess, Reason: carrier.ReasonAgentHangup, Message: "The agent hung up."})
	return nil
}

// hangUp ends the leg and tells the other side.
func (l *leg) hangUp(e *carrier.Ended) {
	if l.end(e) {
		l.bye()
	}
}

// end ends the leg; false when it has ended before.
func (l *leg) end(e *carrier.Ended) bool {
	at := l.stream.At()
	l.stream.Close(e)
	if !l.feed.End(carrier.Event{At: at, Ended: e}) {
		return false
	}
	l.timer.stop()
	return true
}

// bye tells the other side in the background. The leg stays findable until it is told: requests that cross are answered.
func (l *leg) bye() {
	l.mu.Lock()
	d := l.d
	l.mu.Unlock()
	l.line.background(func(ctx context.Context) {
		defer l.leave()
		ctx, cancel := context.WithTimeout(ctx, 32*time.Second)
		defer cancel()
		if _, err := l.request(ctx, sip.BYE, nil); err != nil {
			l.line.log.Warn("BYE not answered", "call", l.info.ID, "trunk", d.trunk.Name, "error", err)
		}
	})
}

// Transfer is that of carrier.Leg: REFER, and then what the other side notifies of.
func (l *leg) Transfer(ctx context.Context, target string) error {
	if ended := l.feed.Over(); ended != nil {
		return ended
	}
	to, err := l.targetOf(target)
	if err != nil {
		return err
	}
	codes := make(chan int, 8)
	l.mu.Lock()
	if l.refer != nil {
		l.mu.Unlock()
		return errors.New("a transfer is under way")
	}
	l.refer = codes
	by := l.d.local
	l.mu.Unlock()
	defer func() { l.mu.Lock(); l.refer = nil; l.mu.Unlock() }()

	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	res, err := l.request(ctx, sip.REFER, func(req *sip.Request) {
		req.AppendHeader(generic("Refer-To", "<"+to.String()+">"))
		req.AppendHeader(generic("Referred-By", "<"+by.String()+">"))
	})
	if err != nil {
		return fmt.Errorf("the line did not answer the transfer: %w", err)
	}
	if !res.IsSuccess() {
		return fmt.Errorf("the line refused the transfer (SIP %d)", res.StatusCode)
	}
	for {
		select {
		case code := <-codes:
			switch {
			case code >= 300:
				return fmt.Errorf("the transfer failed (SIP %d)", code)
			case code >= 200:
				l.hangUp(transferred())
				return nil
			}
		case <-l.feed.Done(): // the other side left, as it was asked to
			return nil
		case <-ctx.Done():
			return errors.New("the transfer was not confirmed")
		}
	}
}

// transferTimeout bounds how long a transfer may ring.
const transferTimeout = 45 * time.Second

func transferred() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassSuccess, Reason: carrier.ReasonTransferred, Message: "The call was transferred."}
}

// targetOf is the address of a transfer's target: a SIP or tel address as it is, a number at the trunk.
func (l *leg) targetOf(target string) (sip.Uri, error) {
	var u sip.Uri
	if len(target) > 1 && target[0] == '+' {
		return uri(l.trunk.dialed(target), l.trunk.Host, l.trunk.Port, ""), nil
	}
	if err := sip.ParseUri(target, &u); err != nil || u.Scheme != "sip" && u.Scheme != "sips" && u.Scheme != "tel" {
		return u, errors.New("the target is neither a number nor a SIP address")
	}
	return u, nil
}

// pressed is the last digit and the way it came: some lines tell of one press twice.
type pressed struct {
	digits, way string
	at          time.Time
}

// fresh reports whether digits are news; false for one that the other way has just told of.
func (l *leg) fresh(digits, way string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.pressed
	if last.digits == digits && last.way != way && time.Since(last.at) < time.Second {
		l.pressed = pressed{}
		return false
	}
	l.pressed = pressed{digits, way, time.Now()}
	return true
}

func addrPort(source string) netip.AddrPort {
	ap, _ := netip.ParseAddrPort(source)
	return netip.AddrPortFrom(ap.Addr().Unmap().WithZone(""), ap.Port())
}
