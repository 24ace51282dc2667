package campaign

import (
	"slices"

	"github.com/callwright/callwright/internal/fault"
)

// Status is where a campaign stands (CONTRACT.md §3, campaigns).
type Status string

// The statuses of a campaign.
const (
	StatusDraft     Status = "draft"
	StatusRunning   Status = "running"
	StatusPaused    Status = "paused"
	StatusCompleted Status = "completed"
	StatusStopped   Status = "stopped"
)

// moves is the whole machine: start, pause, resume, stop, and completion when every enrollment has ended.
var moves = map[Status][]Status{
	StatusDraft:     {StatusRunning, StatusStopped},
	StatusRunning:   {StatusPaused, StatusCompleted, StatusStopped},
	StatusPaused:    {StatusRunning, StatusStopped},
	StatusCompleted: nil,
	StatusStopped:   nil,
}

// CanMove reports whether a campaign may go from one status to another.
func CanMove(from, to Status) bool { return slices.Contains(moves[from], to) }

// Ended reports whether a campaign has ended for good.
func (s Status) Ended() bool { return s == StatusCompleted || s == StatusStopped }

// What an enrollment's status may be.
const (
	// EnrolledPending waits for its first step.
	EnrolledPending = "pending"
	// EnrolledActive has a call under way.
	EnrolledActive = "active"
	// EnrolledWaiting waits for another attempt or a later step.
	EnrolledWaiting   = "waiting"
	EnrolledCompleted = "completed"
	EnrolledFailed    = "failed"
	EnrolledBlocked   = "blocked"
	EnrolledSkipped   = "skipped"
	EnrolledStopped   = "stopped"
)

// enrolled are all of them; those from the fourth on are ends.
var enrolled = []string{EnrolledPending, EnrolledActive, EnrolledWaiting, EnrolledCompleted, EnrolledFailed,
	EnrolledBlocked, EnrolledSkipped, EnrolledStopped}

// open are those that are not ends.
var open = enrolled[:3]

// wrongState is the refusal of start, pause, resume, stop and delete (409).
func wrongState(status, verb string) error {
	if Status(status).Ended() {
		return ended(status)
	}
	return fault.New(fault.Conflict, "campaign_"+status, "The campaign is %s: it can not be %s.", status, verb).With("status", status)
}

func ended(status string) error {
	return fault.New(fault.Conflict, "campaign_ended", "The campaign is %s.", status).With("status", status)
}
