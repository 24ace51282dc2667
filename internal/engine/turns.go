package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/callwright/callwright/internal/call"
)

// turns shares the room of a process that has too little of it: who has calls waiting is served in turn, one call each.
// Without it a workspace whose call ends would always take the place for its own next one.
type turns struct {
	mu    sync.Mutex
	short bool // a call has waited for room in this process
	order []uuid.UUID
}

// missed notes that there was no room for a call of the workspace, which comes first when there is.
func (t *turns) missed(workspace uuid.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.short {
		t.order = slices.Insert(t.order, 0, workspace)
	}
	t.short = true
}

// next is the workspace to claim a call for when asked for one: that one, or whose turn it is. looked keeps a run of claims
// from going round for ever.
func (e *Engine) next(ctx context.Context, asked uuid.UUID, looked *bool) (uuid.UUID, error) {
	t := &e.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.short {
		return asked, nil
	}
	if len(t.order) == 0 {
		if *looked {
			return asked, nil
		}
		*looked = true
		waiting, err := call.Waiting(ctx, e.DB.Ent())
		if err != nil {
			return asked, err
		}
		if len(waiting) == 0 {
			t.short = false
			return asked, nil
		}
		t.order = waiting
	}
	id := t.order[0]
	t.order = t.order[1:]
	return id, nil
}
