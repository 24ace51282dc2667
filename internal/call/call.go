// Package call keeps the record of a call from the request to its end: who may be called, when it is a call's turn,
// where it stands, how it ended, and what is kept of it.
//
// # Statuses
//
// The table in status.go is the whole machine (CONTRACT.md §2). A call is placed as queued, claimed as dialing, answered
// into in-progress, and ends once: what was written first stays, later endings are [ErrEnded]. The one way back is a
// late answer of the carrier, within 30 seconds after no-answer or failed.
//
// # At most once
//
// Nobody is rung twice. [Claim] commits dialing before anybody dials, and no call returns to queued: a process that dies
// with a claimed call leaves a lease that runs out, [Orphans] finds it, and the call ends failed. Losing a call is
// preferred to repeating it.
//
// # Slots and leases
//
// A call holds a slot of the plan while it is in_flight with a live lease; inbound calls hold one too, and are never
// refused. The process that holds calls renews their leases ([Renew]) and learns from it who wants them ended and which
// it has lost.
//
// # Locks
//
// The workspace's row of call_counts is the lock of everything that counts: placing, claiming, ending, canceling and
// deleting calls of a workspace follow each other. It is taken first; then calls, then the rest. Therefore windows are
// exact, slots are never given twice, and an ending that frees a slot sees every call that waits for it: no Dial job is
// missing. Reads and the progress of a single call (leases, turns, leg) do not take it.
//
// # Content
//
// What was said leaves the store only through [Turns], which knows whether it is withheld (redaction.go), and goes before
// the record does (erase.go): after the analysis of a redacted call, and when the agent's retention_period is over.
//
// # Time
//
// created_at is in milliseconds, as the API shows it, so that filters by a time that a client has read mean that call.
package call

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/call"
	"github.com/callwright/callwright/internal/fault"
)

// ErrEnded says that a call has ended already, or is not in flight any more: what came is too late and changed nothing.
var ErrEnded = errors.New("call: it has ended already")

// Get reads a call; call_not_found when the workspace has none with this id.
func Get(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.Call, error) {
	return found(c.Call.Query().Where(call.ID(id)).Only(ctx))
}

func found(c *ent.Call, err error) (*ent.Call, error) {
	if ent.IsNotFound(err) {
		return nil, fault.Missing("call")
	}
	return c, err
}

// Roles of a turn (spec: Webhook payload, transcript_object).
const (
	RoleAgent          = "agent"
	RoleUser           = "user"
	RoleFunctionCall   = "function_call"
	RoleFunctionResult = "function_result"
)

// Transcript is one "role: content" line for each thing said, without function entries; empty when nothing was said.
func Transcript(turns []*ent.Turn) string {
	var lines []string
	for _, t := range turns {
		if t.Role == RoleAgent || t.Role == RoleUser {
			// A line is a turn: the content's own line breaks would look like turns without a role.
			lines = append(lines, t.Role+": "+strings.Join(strings.Fields(t.Content), " "))
		}
	}
	return strings.Join(lines, "\n")
}

// TurnTiming is how long the parts of an agent's turn took, in milliseconds (proto: TurnTiming); nil is not measured.
type TurnTiming struct {
	EndpointMS      *int `json:"endpoint_ms,omitempty"`
	TranscriptionMS *int `json:"transcription_ms,omitempty"`
	FirstTokenMS    *int `json:"first_token_ms,omitempty"`
	FirstSentenceMS *int `json:"first_sentence_ms,omitempty"`
	FirstSoundMS    *int `json:"first_sound_ms,omitempty"`
	PlayoutMS       *int `json:"playout_ms,omitempty"`
	VoiceToVoiceMS  *int `json:"voice_to_voice_ms,omitempty"`
}

// Latency are the measured times of a conversation, in milliseconds.
type Latency struct {
	// GreetingMS is from the answer to the agent's first sound.
	GreetingMS *int `json:"greeting_ms,omitempty"`
	// TurnP50MS is the median time from the end of the caller's words to the first sound of the reply.
	TurnP50MS *int `json:"turn_p50_ms,omitempty"`
	// TurnMaxMS is the slowest of them.
	TurnMaxMS *int `json:"turn_max_ms,omitempty"`
}
