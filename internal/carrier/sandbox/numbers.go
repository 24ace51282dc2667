package sandbox

import (
	"strings"
	"time"

	"github.com/callwright/callwright/internal/audio"
	"github.com/callwright/callwright/internal/carrier"
)

// numbers are the scripts of CONTRACT.md §4 by the last digit of +1500555000x.
var numbers = map[byte]Callee{
	'1': {Ring: time.Hour},
	'2': {Ring: 500 * time.Millisecond, Refuse: &carrier.Ended{
		Class: carrier.ClassClient, Reason: carrier.ReasonBusy, Code: 486, Message: "The line is busy."}},
	'3': {Ring: answerRing, Steps: []Step{
		{Wait: 600 * time.Millisecond, Say: "Hi, you have reached the voicemail of Maria Lopez. I can not take your call right now. Please leave a message after the tone."},
		{Wait: 500 * time.Millisecond, Tone: audio.Beep()},
		{Hear: 5 * time.Second, Patience: 60 * time.Second},
	}},
	'4': {Ring: answerRing, Steps: []Step{
		{Wait: 600 * time.Millisecond, Say: "Thank you for calling Harbor Clinic. For appointments, press 1. For billing, press 2."},
		{Menu: map[byte][]Step{
			'1': {{Wait: time.Second, Say: "You are connected to the appointment desk. How can I help you?"}, hear("Yes, I can do that."), hear("No, that is all, thank you, goodbye."), farewell},
			'2': {{Wait: time.Second, Say: "Billing is closed now. Goodbye."}},
		}, Patience: 6 * time.Second, Back: 1, Repeat: 2},
	}},
	'5': {Ring: 500 * time.Millisecond, Refuse: &carrier.Ended{
		Class: carrier.ClassUpstream, Reason: carrier.ReasonCarrierError, Code: 500, Message: "The network could not complete the call."}},
	'6': person,
	'7': {Ring: 1500 * time.Millisecond, Refuse: &carrier.Ended{
		Class: carrier.ClassClient, Reason: carrier.ReasonDeclined, Code: 603, Message: "The call was declined."}},
	'8': {Ring: answerRing, Steps: []Step{
		{Wait: 600 * time.Millisecond, Say: "Hi. The person you are calling is using a screening service. Please say your name and why you are calling."},
		hear("Thank you. Please stay on the line."),
		{Wait: 3 * time.Second, Say: "Hello, this is Maria."},
		hear("Yes, go ahead."), hear("That sounds good to me."), hear("No, that is all, thank you, goodbye."), farewell,
	}},
	'9': {Ring: answerRing, Steps: []Step{
		{Wait: 400 * time.Millisecond, Say: "Hello?"},
		{Hear: pause, Patience: patience, Nudge: nudge, Repeat: 2, Stop: 0.6,
			Say: "Sorry, I can not really talk right now because I am about to leave the house"},
	}},
}

// How the scripted people behave.
const (
	answerRing = 2 * time.Second
	pause      = 800 * time.Millisecond // after the agent stopped
	patience   = 10 * time.Second       // with a silent agent
	nudge      = "Hello? Is anybody there?"
)

func hear(say string) Step {
	return Step{Hear: pause, Patience: patience, Nudge: nudge, Repeat: 2, Say: say}
}

// farewell waits for the agent's goodbye and hangs up.
var farewell = Step{Hear: 1500 * time.Millisecond, Patience: 5 * time.Second}

// person answers any agent politely, so that a talk of three exchanges ends by itself.
var person = Callee{Ring: answerRing, Steps: []Step{
	{Wait: 400 * time.Millisecond, Say: "Hello?"},
	hear("Yes, go ahead."), hear("That sounds good to me."), hear("No, that is all, thank you, goodbye."), farewell,
}}

// caller calls in by Ring.
var caller = Callee{Steps: []Step{
	hear("Hello, I would like to make an appointment."), hear("Thursday afternoon would be good."),
	hear("No, that is all, thank you, goodbye."), farewell,
}}

// callee is the script for a number.
func (c *Carrier) callee(number string, otherwise Callee) Callee {
	if callee, ok := c.c.Callees[number]; ok {
		return callee
	}
	if rest, ok := strings.CutPrefix(number, "+1500555000"); ok && len(rest) == 1 {
		if callee, ok := numbers[rest[0]]; ok {
			return callee
		}
	}
	return otherwise
}

func noAnswer() *carrier.Ended {
	return &carrier.Ended{Class: carrier.ClassClient, Reason: carrier.ReasonNoAnswer, Code: 487, Message: "Nobody answered."}
}
