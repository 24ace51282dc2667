package sip

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/emiago/sipgo/sip"
)

// dialog is what requests of a call are made of (RFC 3261 §12). Its owner guards it.
type dialog struct {
	callID              string
	localTag, remoteTag string
	local, remote       sip.Uri
	target              sip.Uri
	routes              []sip.Uri
	localSeq, remoteSeq uint32
	transport           string // UDP, TCP, TLS
	peer                string // host:port that the other side's messages come from
	first               string // host:port that the first request goes to; "" leaves it to the request
	trunk               *trunk
	credentials         []sip.Header // of the INVITE, for its ACK
}

// dialogKey finds a dialog.
type dialogKey struct{ callID, localTag string }

func (d *dialog) key() dialogKey { return dialogKey{d.callID, d.localTag} }

// answered takes what the answer to our INVITE tells.
func (d *dialog) answered(res *sip.Response) error {
	d.remoteTag = tagOf(res.To().Params)
	if d.remoteTag == "" {
		return errors.New("the answer has no tag")
	}
	d.peer = res.Source()
	d.routes = nil
	for _, h := range slices.Backward(res.GetHeaders("Record-Route")) {
		if r, ok := h.(*sip.RecordRouteHeader); ok {
			d.routes = append(d.routes, *r.Address.Clone())
		}
	}
	return d.retarget(res)
}

// retarget takes the Contact of a message, if it has one.
func (d *dialog) retarget(m interface{ Contact() *sip.ContactHeader }) error {
	contact := m.Contact()
	switch {
	case contact == nil && d.target.Host == "":
		return errors.New("there is no Contact")
	case contact == nil:
		return nil
	case contact.Address.Wildcard || contact.Address.Host == "":
		return errors.New("the Contact is no address")
	}
	d.target = *contact.Address.Clone()
	d.target.Headers = nil
	return nil
}

// request makes the next request of the dialog. ACK and CANCEL have the number of their INVITE and are made elsewhere.
func (d *dialog) request(method sip.RequestMethod) *sip.Request {
	d.localSeq++
	return d.build(method, d.localSeq)
}

func (d *dialog) build(method sip.RequestMethod, seq uint32) *sip.Request {
	to, routes := d.target, d.routes
	if len(routes) > 0 && !routes[0].UriParams.Has("lr") { // a strict router: RFC 3261 §12.2.1.1
		to, routes = routes[0], append(slices.Clone(routes[1:]), d.target)
	}
	req := sip.NewRequest(method, to)
	d.trunk.via(req, d.transport)
	for _, r := range routes {
		req.AppendHeader(&sip.RouteHeader{Address: *r.Clone()})
	}
	from := &sip.FromHeader{Address: *d.local.Clone()}
	from.Params.Add("tag", d.localTag)
	remote := &sip.ToHeader{Address: *d.remote.Clone()}
	if d.remoteTag != "" {
		remote.Params.Add("tag", d.remoteTag)
	}
	id, hops := sip.CallIDHeader(d.callID), sip.MaxForwardsHeader(70)
	req.AppendHeader(from)
	req.AppendHeader(remote)
	req.AppendHeader(&id)
	req.AppendHeader(&sip.CSeqHeader{SeqNo: seq, MethodName: method})
	req.AppendHeader(&hops)
	req.SetBody(nil)
	d.trunk.aim(req, d.transport, d.destination(to))
	return req
}

// destination is where a request goes: the first route or the target; where the other side is behind NAT, or reached us
// by a connection, the address that its messages come from. "" leaves it to the request.
func (d *dialog) destination(to sip.Uri) string {
	if d.remoteTag == "" {
		return d.first
	}
	if len(d.routes) > 0 || d.peer == "" {
		return ""
	}
	peer, target := addrOf(d.peer), addrOf(to.Host)
	switch {
	case d.trunk.NAT:
		return d.peer
	case target.IsValid() && target.IsPrivate() && !peer.IsPrivate() && !peer.IsLoopback():
		return d.peer
	case d.transport != "UDP" && d.trunk.connected(d.transport, d.peer):
		return d.peer
	}
	return ""
}

// ack acknowledges an answer with a 2xx.
func (d *dialog) ack(seq uint32) *sip.Request {
	req := d.build(sip.ACK, seq)
	for _, h := range d.credentials {
		req.AppendHeader(sip.HeaderClone(h))
	}
	return req
}

// follows checks the number of a request of the other side: they must rise.
func (d *dialog) follows(req *sip.Request) bool {
	seq := req.CSeq().SeqNo
	if d.remoteSeq != 0 && seq <= d.remoteSeq {
		return false
	}
	d.remoteSeq = seq
	return true
}

// state is what is stored of a dialog at its answer, so that another process can end it.
type state struct {
	SIP       int      `json:"sip"` // version of this form
	Trunk     string   `json:"trunk"`
	CallID    string   `json:"call_id"`
	LocalTag  string   `json:"local_tag"`
	RemoteTag string   `json:"remote_tag"`
	Local     string   `json:"local"`
	Remote    string   `json:"remote"`
	Target    string   `json:"target"`
	Routes    []string `json:"routes,omitempty"`
	Seq       uint32   `json:"seq"`
	Transport string   `json:"transport"`
	Peer      string   `json:"peer"`
}

// seqGap is how far a process that takes over goes ahead of the number it knows: the dead one may have counted on.
const seqGap = 1000

func (d *dialog) state() json.RawMessage {
	// Databases take no NUL, and a call whose state can not be stored would never end.
	plain := func(text string) string { return strings.ReplaceAll(text, "\x00", "") }
	s := state{
		SIP: 1, Trunk: d.trunk.Name, CallID: d.callID, LocalTag: d.localTag, RemoteTag: plain(d.remoteTag),
		Local: plain(d.local.String()), Remote: plain(d.remote.String()), Target: plain(d.target.String()),
		Seq: d.localSeq, Transport: d.transport, Peer: d.peer,
	}
	for _, r := range d.routes {
		s.Routes = append(s.Routes, plain(r.String()))
	}
	raw, _ := json.Marshal(s)
	return raw
}

// dialogOf is the reverse of state.
func (c *Carrier) dialogOf(raw json.RawMessage) (*dialog, error) {
	var s state
	if err := json.Unmarshal(raw, &s); err != nil || s.SIP != 1 || s.CallID == "" {
		return nil, fmt.Errorf("not the state of a SIP call: %w", cmp.Or(err, errors.New("other form")))
	}
	d := &dialog{
		callID: s.CallID, localTag: s.LocalTag, remoteTag: s.RemoteTag, localSeq: s.Seq + seqGap,
		transport: s.Transport, peer: s.Peer, trunk: c.named(s.Trunk, s.Peer),
	}
	if d.trunk == nil {
		return nil, fmt.Errorf("there is no trunk %q any more", s.Trunk)
	}
	for _, u := range []struct {
		text string
		into *sip.Uri
	}{{s.Local, &d.local}, {s.Remote, &d.remote}, {s.Target, &d.target}} {
		if err := sip.ParseUri(u.text, u.into); err != nil {
			return nil, fmt.Errorf("state of a SIP call: %w", err)
		}
	}
	for _, r := range s.Routes {
		var u sip.Uri
		if err := sip.ParseUri(r, &u); err != nil {
			return nil, fmt.Errorf("state of a SIP call: %w", err)
		}
		d.routes = append(d.routes, u)
	}
	return d, nil
}

// uri is an address at a trunk or at us.
func uri(user, host string, port int, transport string) sip.Uri {
	u := sip.Uri{Scheme: "sip", User: user, Host: host, Port: port}
	if transport != "" && transport != "udp" {
		u.UriParams.Add("transport", transport)
	}
	return u
}

// splitHostPort takes host and, if there is one, port.
func splitHostPort(text string) (host string, port int, err error) {
	if h, p, e := net.SplitHostPort(text); e == nil {
		if port, err = strconv.Atoi(p); err != nil || port < 0 || port > 65535 {
			return "", 0, fmt.Errorf("the port %q is not between 0 and 65535", p)
		}
		return h, port, nil
	}
	return strings.Trim(text, "[]"), 0, nil
}
