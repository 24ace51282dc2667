package sip

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/callwright/callwright/internal/carrier"
)

// refusal is what a final answer to our INVITE means (README, Real telephones).
func refusal(code int, retryAfter time.Duration) *carrier.Ended {
	e := &carrier.Ended{Class: carrier.ClassClient, Code: code, RetryAfter: retryAfter}
	switch {
	case code == 486 || code == 600:
		e.Reason, e.Message = carrier.ReasonBusy, "The line was busy."
	case code == 603 || code == 607 || code == 608:
		e.Reason, e.Message = carrier.ReasonDeclined, "The call was declined."
	case code == 408 || code == 480 || code == 487:
		e.Reason, e.Message = carrier.ReasonNoAnswer, "Nobody answered."
	case code == 404 || code == 410 || code == 484 || code == 604:
		e.Reason, e.Message = carrier.ReasonInvalidNumber, "The number does not exist or can not be reached."
	case code == 401 || code == 403 || code == 407:
		e.Class, e.Reason, e.Message = carrier.ClassUpstream, carrier.ReasonTrunkRejected, "The telephone provider refused the call."
	case code == 488 || code == 606:
		e.Class, e.Reason, e.Message = carrier.ClassUpstream, carrier.ReasonCodec, "The other side offered no sound format that we understand."
	default:
		e.Class, e.Reason = carrier.ClassUpstream, carrier.ReasonCarrierError
		e.Message = fmt.Sprintf("The telephone network could not connect the call (SIP %d).", code)
	}
	return e
}

// elsewhere reports whether another trunk may do better: this one failed, not the called party.
func elsewhere(e *carrier.Ended) bool {
	return e.Class == carrier.ClassUpstream && e.Reason == carrier.ReasonCarrierError && (e.Code == 0 || e.Code >= 500 && e.Code < 600)
}

// silent is the end of an attempt that nobody answered at all.
func silent() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassUpstream, Reason: carrier.ReasonCarrierError, Message: "The telephone provider did not answer."}
}

func unreachable() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassUpstream, Reason: carrier.ReasonCarrierError, Message: "The telephone provider could not be reached."}
}

func noAnswer() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassClient, Reason: carrier.ReasonNoAnswer, Message: "Nobody answered."}
}

func canceled() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassClient, Reason: carrier.ReasonCanceled, Message: "The call was canceled before it was answered."}
}

func gaveUp() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassClient, Reason: carrier.ReasonCanceled, Code: 487, Message: "The caller hung up while it rang."}
}

func draining() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassServer, Reason: carrier.ReasonDraining, Message: "This process takes no more calls."}
}

func noCodec(code int) *carrier.Ended {
	return refusal(map[bool]int{true: 488, false: code}[code == 0], 0)
}

// lineFailed is the end of an answered call whose other side can not be reached any more.
func lineFailed(message string) *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassUpstream, Reason: carrier.ReasonCarrierError, Message: message}
}

// refusalCode is the answer to an INVITE that nobody takes.
func refusalCode(c carrier.Cause) (int, string) {
	switch c {
	case carrier.CauseUnknown:
		return 404, "Not Found"
	case carrier.CauseDeclined:
		return 603, "Decline"
	case carrier.CauseUnavailable:
		return 503, "Service Unavailable"
	}
	return 486, "Busy Here"
}

// retryAfter reads the header of a refusal: seconds, at most a day; 0 without one.
func retryAfter(m message) time.Duration {
	value := header(m, "retry-after")
	end := strings.IndexFunc(value, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(value)
	}
	seconds, err := strconv.Atoi(value[:end])
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, 24*time.Hour)
}
