package call

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/turn"
)

// How often the records are looked at for who follows a call, and for how long at most: who may see it was decided at
// the beginning.
const (
	followTalk  = 250 * time.Millisecond // while somebody is being rung or spoken to
	followWait  = time.Second            // before that
	followLimit = 15 * time.Minute
)

// News is what is new of a call: one of the two.
type News struct {
	Call *ent.Call
	Turn *ent.Turn
}

// Follow tells of a call of the workspace in ctx: the record now and whenever its status changes, and its turns from
// number skip on as they are written, until it has ended. It looks at the records only, so it does not matter which
// process holds the call. It returns nil at the call's end and after 15 minutes; tell's error ends it. Turns are told as
// far as [Turns] gives them: none of a redacted call. proto: CallService.FollowCall.
func Follow(ctx context.Context, c *ent.Client, id uuid.UUID, skip int, tell func(News) error) error {
	limit := time.NewTimer(followLimit)
	defer limit.Stop()
	for status := ""; ; {
		row, err := Get(ctx, c, id)
		if err != nil {
			return err
		}
		ended := Status(row.Status).Terminal()
		if !ended && row.Status != status {
			if err := tell(News{Call: row}); err != nil {
				return err
			}
		}
		status = row.Status
		// All turns are written before the end is, so after a terminal status there are no more.
		turns, err := turnsFrom(ctx, c, row, skip)
		if err != nil {
			return err
		}
		for _, t := range turns {
			if err := tell(News{Turn: t}); err != nil {
				return err
			}
		}
		skip += len(turns)
		if ended {
			return tell(News{Call: row})
		}
		pause := followWait
		if Status(row.Status).Active() {
			pause = followTalk
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit.C:
			return nil
		case <-time.After(pause):
		}
	}
}

// turnsFrom are the turns from a number on, as far as they are shown.
func turnsFrom(ctx context.Context, c *ent.Client, row *ent.Call, skip int) ([]*ent.Turn, error) {
	turns, err := c.Turn.Query().Where(turn.WorkspaceID(row.WorkspaceID), turn.CallID(row.ID), turn.SeqGTE(skip)).Order(turn.BySeq()).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the turns of call %s: %w", row.ID, err)
	}
	if len(turns) == 0 {
		return nil, nil
	}
	if redacted, err := Redaction(ctx, c, row); err != nil || redacted != "" {
		return nil, err
	}
	return turns, nil
}
