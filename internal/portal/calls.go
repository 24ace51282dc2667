package portal

import (
	"fmt"
	"strings"

	callwrightv1 "github.com/callwright/callwright/gen/callwright/v1"
)

// statusText is the status of a call in words.
func statusText(s callwrightv1.CallStatus) string {
	return upperFirst(strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "CALL_STATUS_")), "_", " "))
}

// statusLine is the status with the length of the talk.
func statusLine(c *callwrightv1.Call) string {
	if c.Duration == nil {
		return statusText(c.GetStatus())
	}
	return statusText(c.GetStatus()) + ", " + length(c.GetDuration())
}

// statusTone is the colour of a status: good, bad, live or none.
func statusTone(s callwrightv1.CallStatus) string {
	switch s {
	case callwrightv1.CallStatus_CALL_STATUS_COMPLETED:
		return "good"
	case callwrightv1.CallStatus_CALL_STATUS_FAILED, callwrightv1.CallStatus_CALL_STATUS_BLOCKED:
		return "bad"
	case callwrightv1.CallStatus_CALL_STATUS_DIALING, callwrightv1.CallStatus_CALL_STATUS_IN_PROGRESS:
		return "live"
	}
	return "none"
}

// length is a duration in seconds as people write it.
func length(seconds int32) string {
	if seconds < 60 {
		return fmt.Sprintf("%d s", seconds)
	}
	return fmt.Sprintf("%d min %02d s", seconds/60, seconds%60)
}

// other is the party that is not the agent.
func other(c *callwrightv1.Call) string {
	if c.GetDirection() == callwrightv1.Direction_DIRECTION_INBOUND {
		return c.GetFrom()
	}
	return c.GetTo()
}

// headline is a call as a sentence: who called whom.
func headline(c *callwrightv1.Call, agents map[string]string) string {
	agent := orText(agents[c.GetAgentId()], "An agent")
	if c.GetDirection() == callwrightv1.Direction_DIRECTION_INBOUND {
		return orText(c.GetFrom(), "Somebody") + " called " + agent
	}
	return agent + " called " + c.GetTo()
}
