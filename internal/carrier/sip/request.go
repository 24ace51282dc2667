package sip

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/emiago/sipgo/sip"
	"github.com/icholy/digest"
)

// errNoAnswer means that a request got no final response.
var errNoAnswer = errors.New("no response")

// send starts a transaction.
func (c *Carrier) send(ctx context.Context, req *sip.Request) (*sip.ClientTx, error) {
	ctx, cancel := context.WithTimeout(ctx, c.c.Silence) // for the connection
	defer cancel()
	tx, err := c.ua.TransactionLayer().Request(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("send %s: %w", req.Method, scrubbed(err))
	}
	return tx, nil
}

// scrubbed keeps what errors of the stack say of messages out of logs.
func scrubbed(err error) error {
	switch {
	case errors.Is(err, sip.ErrTransactionTimeout), errors.Is(err, context.DeadlineExceeded):
		return errNoAnswer
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, sip.ErrUDPMTUCongestion):
		return sip.ErrUDPMTUCongestion
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if _, ok := e.(interface{ Timeout() bool }); ok { // a net.Error says only addresses
			return e
		}
	}
	return errors.New("not sent")
}

// exchange sends a request that is no INVITE and returns its final response.
func (c *Carrier) exchange(ctx context.Context, req *sip.Request) (*sip.Response, error) {
	tx, err := c.send(ctx, req)
	if err != nil {
		return nil, err
	}
	defer tx.Terminate()
	for {
		select {
		case res := <-tx.Responses():
			if !res.IsProvisional() {
				return res, nil
			}
		case <-tx.Done():
			return nil, errNoAnswer
		case <-ctx.Done():
			return nil, errNoAnswer
		}
	}
}

// challenged reports whether a response asks for digest credentials.
func challenged(res *sip.Response) bool { return res.StatusCode == 401 || res.StatusCode == 407 }

// answerChallenge makes the credentials that a 401 or 407 asks for. An error means that there are none.
func answerChallenge(t *trunk, req *sip.Request, res *sip.Response) (sip.Header, error) {
	ask, reply := "WWW-Authenticate", "Authorization"
	if res.StatusCode == 407 {
		ask, reply = "Proxy-Authenticate", "Proxy-Authorization"
	}
	if t.User == "" {
		return nil, errors.New("the trunk asks for a user and secret")
	}
	for _, h := range res.GetHeaders(ask) {
		chal, err := digest.ParseChallenge(h.Value())
		if err != nil {
			continue
		}
		for i := range chal.QOP {
			chal.QOP[i] = strings.ToLower(strings.TrimSpace(chal.QOP[i]))
		}
		if !digest.CanDigest(chal) || len(chal.QOP) > 0 && !chal.SupportsQOP("auth") {
			continue
		}
		cred, err := digest.Digest(chal, digest.Options{
			Method: string(req.Method), URI: req.Recipient.String(), Username: t.User, Password: t.Secret,
		})
		if err != nil {
			continue
		}
		return generic(reply, cred.String()), nil
	}
	return nil, errors.New("the trunk asks for a kind of credentials that we do not have")
}

// ask sends a request of a dialog (guarded by the caller's make), answers a challenge once, and returns the final
// response.
func (c *Carrier) ask(ctx context.Context, t *trunk, makeRequest func(credentials ...sip.Header) *sip.Request) (*sip.Response, error) {
	req := makeRequest()
	res, err := c.exchange(ctx, req)
	if err != nil || !challenged(res) {
		return res, err
	}
	credentials, err := answerChallenge(t, req, res)
	if err != nil {
		return res, nil
	}
	return c.exchange(ctx, makeRequest(credentials))
}

// background runs f until it is done or the line is closed; Run waits for it.
func (c *Carrier) background(f func(ctx context.Context)) {
	c.work.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				c.log.Error("panic in SIP signalling", "panic", fmt.Sprint(p), "stack", stack())
			}
		}()
		f(c.closing)
	})
}
