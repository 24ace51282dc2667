package call

import "slices"

// Status is where a call stands (spec: Call status values). The texts are those of the API and of the database.
type Status string

// The statuses.
const (
	StatusNotScheduled Status = "not-scheduled"
	StatusScheduled    Status = "scheduled"
	StatusPaused       Status = "paused"
	StatusQueued       Status = "queued"
	StatusDialing      Status = "dialing"
	StatusInProgress   Status = "in-progress"
	StatusCompleted    Status = "completed"
	StatusFailed       Status = "failed"
	StatusBlocked      Status = "blocked"
	StatusSkipped      Status = "skipped"
	StatusNoAnswer     Status = "no-answer"
	StatusBusy         Status = "busy"
	StatusCanceled     Status = "canceled"
)

// moves is the whole status machine (CONTRACT.md §2, Transitions): what is not in it does not happen. The moves out of
// no-answer and failed are the late answer, which [Answered] allows only within lateAnswer after the end.
var moves = map[Status][]Status{
	StatusNotScheduled: {StatusScheduled, StatusBlocked, StatusSkipped, StatusCanceled},
	StatusScheduled:    {StatusPaused, StatusQueued, StatusBlocked, StatusSkipped, StatusCanceled},
	StatusPaused:       {StatusScheduled, StatusBlocked, StatusSkipped, StatusCanceled},
	// Back to scheduled: a campaign's call whose hour has passed while it waited, or whose campaign was paused.
	StatusQueued:     {StatusDialing, StatusScheduled, StatusBlocked, StatusSkipped, StatusCanceled},
	StatusDialing:    {StatusInProgress, StatusNoAnswer, StatusBusy, StatusFailed, StatusCanceled},
	StatusInProgress: {StatusCompleted, StatusFailed},
	StatusCompleted:  nil,
	StatusFailed:     {StatusInProgress},
	StatusBlocked:    nil,
	StatusSkipped:    nil,
	StatusNoAnswer:   {StatusInProgress},
	StatusBusy:       nil,
	StatusCanceled:   nil,
}

// Terminal reports whether a call with this status has ended.
func (s Status) Terminal() bool {
	switch s {
	case StatusCompleted, StatusFailed, StatusBlocked, StatusSkipped, StatusNoAnswer, StatusBusy, StatusCanceled:
		return true
	}
	return false
}

// Active reports whether somebody is being rung or spoken to: such a call holds a slot of the plan.
func (s Status) Active() bool { return s == StatusDialing || s == StatusInProgress }

// CanMove reports whether a call may go from one status to another.
func CanMove(from, to Status) bool { return slices.Contains(moves[from], to) }

// What the other enumerations of a call hold.
const (
	DirectionInbound  = "inbound"
	DirectionOutbound = "outbound"
)

// enumTexts are the texts of the fields that have a fixed set of them.
var enumTexts = map[string][]string{
	"status": {"scheduled", "not-scheduled", "paused", "queued", "dialing", "in-progress", "completed", "failed", "blocked",
		"skipped", "no-answer", "busy", "canceled"},
	"direction":   {DirectionInbound, DirectionOutbound},
	"answered_by": {"human", "voicemail", "ivr"},
}
