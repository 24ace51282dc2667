package rtp

import (
	"context"
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// Stream is the sound of one call, from before its offer to its end. Its methods may be called by any goroutine.
type Stream struct {
	port uint16
}

// Port is the local RTP port, for our SDP; RTCP is the one after it.
func (s *Stream) Port() uint16 { return s.port }

// Early sends silence to the other side before the answer, which opens ways through NAT. What comes is thrown away:
// early media is no answer. It may be called again with other Params.
func (s *Stream) Early(p Params) error {
	panic("not yet")
}

// Start is the answer: media time 0. It is called once.
func (s *Stream) Start(p Params) error {
	panic("not yet")
}

// Update takes what a re-INVITE or UPDATE agreed on. The source is latched anew when Remote changes; keys that stay the
// same keep their state.
func (s *Stream) Update(p Params) error {
	panic("not yet")
}

// Media is the sound as the engine sees it.
func (s *Stream) Media() carrier.Media {
	panic("not yet")
}

// SendDigits is that of carrier.Leg: it validates, and returns when the digits are on the line. While they are, sound
// that waits to be played waits.
func (s *Stream) SendDigits(ctx context.Context, digits string) error {
	panic("not yet")
}

// At is the media time now.
func (s *Stream) At() time.Duration {
	panic("not yet")
}

// Stats may be asked for during the call and after it.
func (s *Stream) Stats() Stats {
	panic("not yet")
}

// Close ends the sound and gives the ports back. Media returns ended from then on; a second Close does nothing.
func (s *Stream) Close(ended *carrier.Ended) {
	panic("not yet")
}
