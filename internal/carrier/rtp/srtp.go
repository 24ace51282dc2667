package rtp

import (
	"fmt"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/srtp/v3"
)

// replayWindow is how many packets back a repetition is known.
const replayWindow = 128

func newContext(k *Keys) (*srtp.Context, error) {
	profile := srtp.ProtectionProfileAes128CmHmacSha1_80
	if k.Suite == AES128SHA1Tag32 {
		profile = srtp.ProtectionProfileAes128CmHmacSha1_32
	}
	c, err := srtp.CreateContext(k.Key[:16], k.Key[16:], profile, srtp.SRTPReplayProtection(replayWindow), srtp.SRTCPReplayProtection(replayWindow))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	return c, nil
}

// sealer encrypts what we send; the zero value leaves it as it is.
type sealer struct {
	keys    *Keys
	context *srtp.Context
	header  rtp.Header
}

// use takes keys and reports whether they are other ones than before.
func (s *sealer) use(k *Keys) (changed bool, err error) {
	if k.Equal(s.keys) {
		return false, nil
	}
	if k == nil {
		*s = sealer{}
		return true, nil
	}
	c, err := newContext(k)
	if err != nil {
		return false, err
	}
	copied := *k
	s.keys, s.context = &copied, c
	return true, nil
}

func (s *sealer) rtp(packet []byte) ([]byte, error) {
	if s.context == nil {
		return packet, nil
	}
	return s.context.EncryptRTP(packet[:cap(packet)], packet, &s.header)
}

func (s *sealer) rtcp(packet []byte) ([]byte, error) {
	if s.context == nil {
		return packet, nil
	}
	return s.context.EncryptRTCP(nil, packet, nil)
}

// opener decrypts what comes in; the zero value leaves it as it is.
type opener struct {
	keys    *Keys
	context *srtp.Context
	// rolled is the context of the same keys that goes on with the rollover counter of the keys before: after re-keying
	// RFC 3711 §3.3.1 keeps the counter, RFC 4568 §7.1.4 and many devices begin at 0. Whichever opens a packet stays.
	rolled *srtp.Context
	// before is what the keys before could open; until the time given, packets sent before the change may still come.
	before *srtp.Context
	until  time.Duration
	ssrc   uint32
	header rtp.Header
}

// overlap is how long old keys are good for after new ones were agreed on.
const overlap = 2 * time.Second

// use takes keys at a media time.
func (o *opener) use(k *Keys, at time.Duration) error {
	if k.Equal(o.keys) {
		return nil
	}
	if k == nil {
		*o = opener{}
		return nil
	}
	c, err := newContext(k)
	if err != nil {
		return err
	}
	var rolled *srtp.Context
	if o.context != nil {
		if roc, ok := o.context.ROC(o.ssrc); ok && roc > 0 {
			if rolled, err = newContext(k); err != nil {
				return err
			}
			rolled.SetROC(o.ssrc, roc)
		}
	}
	copied := *k
	*o = opener{keys: &copied, context: c, rolled: rolled, before: o.context, until: at + overlap, ssrc: o.ssrc}
	return nil
}

// rtp decrypts in place; false for what nobody with our keys sent just now.
func (o *opener) rtp(packet []byte, ssrc uint32, at time.Duration) ([]byte, bool) {
	if o.context == nil {
		return packet, true
	}
	if clear, err := o.context.DecryptRTP(packet, packet, &o.header); err == nil {
		o.rolled, o.ssrc = nil, ssrc
		return clear, true
	}
	if o.rolled != nil {
		if clear, err := o.rolled.DecryptRTP(packet, packet, &o.header); err == nil {
			o.context, o.rolled = o.rolled, nil
			return clear, true
		}
	}
	if o.before != nil {
		if at > o.until {
			o.before = nil
		} else if clear, err := o.before.DecryptRTP(packet, packet, &o.header); err == nil {
			return clear, true
		}
	}
	return nil, false
}

func (o *opener) rtcp(packet []byte) ([]byte, bool) {
	if o.context == nil {
		return packet, true
	}
	clear, err := o.context.DecryptRTCP(nil, packet, nil)
	return clear, err == nil
}
