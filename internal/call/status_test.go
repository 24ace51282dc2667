package call_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/callwright/callwright/internal/call"
)

var statuses = []call.Status{
	call.StatusScheduled, call.StatusNotScheduled, call.StatusPaused, call.StatusQueued, call.StatusDialing,
	call.StatusInProgress, call.StatusCompleted, call.StatusFailed, call.StatusBlocked, call.StatusSkipped,
	call.StatusNoAnswer, call.StatusBusy, call.StatusCanceled,
}

// The transitions of CONTRACT.md §2, written out again: the table and this must agree on every pair.
func TestACallMovesOnlyAsTheContractSays(t *testing.T) {
	allowed := map[[2]call.Status]bool{
		{"not-scheduled", "scheduled"}: true,
		{"scheduled", "paused"}:        true,
		{"paused", "scheduled"}:        true,
		{"scheduled", "queued"}:        true,
		{"queued", "dialing"}:          true,
		{"queued", "scheduled"}:        true, // a campaign's call, deferred by its hours or paused
		{"dialing", "in-progress"}:     true,
		{"in-progress", "completed"}:   true,
		{"in-progress", "failed"}:      true,
		{"dialing", "no-answer"}:       true,
		{"dialing", "busy"}:            true,
		{"dialing", "failed"}:          true,
		{"dialing", "canceled"}:        true,
		{"no-answer", "in-progress"}:   true, // a late answer
		{"failed", "in-progress"}:      true,
	}
	for _, before := range []call.Status{"not-scheduled", "scheduled", "paused", "queued"} {
		for _, end := range []call.Status{"blocked", "skipped", "canceled"} {
			allowed[[2]call.Status{before, end}] = true
		}
	}
	pairs := 0
	for _, from := range statuses {
		for _, to := range statuses {
			pairs++
			require.Equal(t, allowed[[2]call.Status{from, to}], call.CanMove(from, to), "%s → %s", from, to)
		}
	}
	require.Equal(t, 169, pairs)
	require.False(t, call.CanMove("", "queued"))
	require.False(t, call.CanMove("queued", "nonsense"))
}

func TestTerminalAndActiveStatuses(t *testing.T) {
	terminal := []call.Status{"completed", "failed", "blocked", "skipped", "no-answer", "busy", "canceled"}
	for _, s := range statuses {
		require.Equal(t, slices.Contains(terminal, s), s.Terminal(), s)
		require.Equal(t, s == "dialing" || s == "in-progress", s.Active(), s)
	}
	require.False(t, call.Status("").Terminal())
}
