package carrier

import (
	"errors"
	"fmt"
	"time"
)

// Class says on whose account a call ended: it is what success rates and alarms are made of.
type Class string

// The five classes.
const (
	// ClassSuccess: the call was answered and somebody hung up.
	ClassSuccess Class = "success"
	// ClassClient: the called party or the one who asked for the call: busy, no answer, declined, bad number, canceled.
	ClassClient Class = "client"
	// ClassServer: us.
	ClassServer Class = "server"
	// ClassUpstream: the trunk, the network or a speech provider.
	ClassUpstream Class = "upstream"
	// ClassIndeterminate: nobody can tell, such as sound that just stopped.
	ClassIndeterminate Class = "indeterminate"
)

// Reasons that a line gives; ended_reason of CONTRACT.md §2 where the engine keeps them as they are.
const (
	ReasonBusy          = "busy"            // → status busy
	ReasonDeclined      = "declined"        // → status busy
	ReasonNoAnswer      = "no_answer"       // → status no-answer
	ReasonCanceled      = "canceled"        // → status canceled before the answer; we hung up on request after it
	ReasonInvalidNumber = "invalid_number"  // → status failed, as all below until the answer
	ReasonTrunkRejected = "trunk_rejected"  // the trunk does not let us
	ReasonCodec         = "codec"           // no codec in common
	ReasonCarrierError  = "carrier_error"   // the network failed; RetryAfter may be set
	ReasonDraining      = "draining"        // this process takes no more calls
	ReasonHangup        = "customer_hangup" // the other side hung up
	ReasonAgentHangup   = "agent_hangup"    // we did
	ReasonTransferred   = "transferred"     // handed on
	ReasonMediaTimeout  = "media_timeout"   // no sound for too long
	ReasonWorkerLost    = "worker_lost"     // the process died (the reaper's word)
)

// Ended is how a leg, or the attempt to get one, ended. It is an error; find it with [EndedOf].
type Ended struct {
	Class  Class
	Reason string
	// Message is a sentence for people.
	Message string
	// Code is the SIP status where there was one.
	Code int
	// RetryAfter is how long a new attempt is pointless; 0 is unknown.
	RetryAfter time.Duration
}

func (e *Ended) Error() string {
	if e.Code != 0 {
		return fmt.Sprintf("call ended: %s (%d): %s", e.Reason, e.Code, e.Message)
	}
	return fmt.Sprintf("call ended: %s: %s", e.Reason, e.Message)
}

// EndedOf finds the Ended in an error of Dial or Media. An error without one is a fault of ours.
func EndedOf(err error) *Ended {
	var e *Ended
	if errors.As(err, &e) {
		return e
	}
	return &Ended{Class: ClassServer, Reason: ReasonCarrierError, Message: "The call could not be carried out."}
}

// Cause is what we tell the line when we hang up or refuse.
type Cause string

// The causes.
const (
	CauseNormal      Cause = "normal"
	CauseBusy        Cause = "busy"
	CauseDeclined    Cause = "declined"
	CauseUnknown     Cause = "unknown_number"
	CauseUnavailable Cause = "unavailable" // try again later
)
