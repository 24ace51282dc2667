package identity

import (
	"context"
	"fmt"

	"entgo.io/ent/dialect/sql"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/toolaccess"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// NoteToolAccess records that the caller of the request asked a tool of the tool server, for what subject if for one.
// Rows are only added; a tool whose question can not be recorded is not answered.
func NoteToolAccess(ctx context.Context, c *ent.Client, tool, subject string) error {
	p, ok := From(ctx)
	if !ok {
		return fault.New(fault.Unauthenticated, "unauthorized", "nobody is asking")
	}
	err := c.ToolAccess.Create().SetCreatedAt(store.Now()).SetTool(tool).SetSubject(subject).SetAddress(originOf(ctx)).
		SetNillableKeyID(p.KeyID).SetNillableUserID(p.UserID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("record the access to %s: %w", tool, err)
	}
	return nil
}

// ListToolAccesses lists who asked which tool in the context's workspace, newest first. For those who administer, else
// forbidden.
func ListToolAccesses(ctx context.Context, c *ent.Client, offset int, limit *int) (store.Page[*ent.ToolAccess], error) {
	if _, err := administrator(ctx); err != nil {
		return store.Page[*ent.ToolAccess]{}, err
	}
	rows := func(ctx context.Context, offset, limit int) ([]*ent.ToolAccess, error) {
		return c.ToolAccess.Query().Order(toolaccess.ByCreatedAt(sql.OrderDesc()), toolaccess.ByID(sql.OrderDesc())).
			Offset(offset).Limit(limit).All(ctx)
	}
	return store.ReadPage(ctx, offset, limit, rows, c.ToolAccess.Query().Count)
}
