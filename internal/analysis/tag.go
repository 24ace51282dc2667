package analysis

import (
	"context"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/callanalysis"
	"github.com/callwright/callwright/ent/calltag"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Bounds of a tag. spec: Call tag; Limits. Characters are code points.
const (
	maxTagName  = 64
	maxTagEmoji = 8
	maxTagQuery = 100
)

// TagSort is an order of tags; ids break ties.
type TagSort string

// The orders.
const (
	TagNewest   TagSort = "created_at:desc"
	TagOldest   TagSort = "created_at:asc"
	TagByName   TagSort = "name:asc"
	TagFromName TagSort = "name:desc"
)

// TagQuery is a page of tags.
type TagQuery struct {
	// Part of the name in any case, in any script; % and _ are literal.
	Q      string
	Offset int
	// Defaults to 50; more than 200 count as 200.
	Limit *int
	// Defaults to TagNewest.
	Sort TagSort
}

// CreateTag makes a tag, or returns the workspace's tag that has this emoji and name already; created says which. Any
// number of identical requests at once get the same row, one of them created. by is the person who made it, nil for API
// keys. spec: Call tags, POST.
func CreateTag(ctx context.Context, db *store.DB, name, emoji string, by *uuid.UUID) (tag *ent.CallTag, created bool, err error) {
	if name, err = tagName(name); err != nil {
		return nil, false, err
	}
	if err = tagEmoji(emoji); err != nil {
		return nil, false, err
	}
	workspace, _ := store.Workspace(ctx)
	id := store.NewID()
	// The tag that was in the way may be deleted before it is read: then there is room again.
	for range 10 {
		err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			err := tx.CallTag.Create().SetID(id).SetWorkspaceID(workspace).SetName(name).SetNameFold(store.Fold(name)).
				SetEmoji(emoji).SetNillableCreatedBy(by).
				OnConflictColumns(calltag.FieldWorkspaceID, calltag.FieldName, calltag.FieldEmoji).DoNothing().Exec(ctx)
			if store.IsNoRow(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return nil, false, err
		}
		tag, err = db.Ent().CallTag.Query().Where(calltag.Name(name), calltag.Emoji(emoji)).Only(ctx)
		if err == nil {
			return tag, tag.ID == id, nil
		}
		if !ent.IsNotFound(err) {
			return nil, false, err
		}
	}
	return nil, false, fault.New(fault.Unavailable, "unavailable", "the tag is being created and deleted at the same time; try again")
}

// GetTag reads a tag. Errors: tag_not_found. spec: Call tags, GET by id.
func GetTag(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.CallTag, error) {
	tag, err := c.CallTag.Query().Where(calltag.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("tag")
	}
	return tag, err
}

// ListTags gives a page of tags. Errors: validation_failed. spec: Call tags, GET.
func ListTags(ctx context.Context, c *ent.Client, q TagQuery) (store.Page[*ent.CallTag], error) {
	if utf8.RuneCountInString(q.Q) > maxTagQuery {
		return store.Page[*ent.CallTag]{}, fault.Invalidf("q must have at most %d characters", maxTagQuery)
	}
	match := c.CallTag.Query()
	if q.Q != "" {
		match.Where(calltag.NameFoldContains(store.Fold(q.Q)))
	}
	return store.ReadPage(ctx, q.Offset, q.Limit, func(ctx context.Context, offset, limit int) ([]*ent.CallTag, error) {
		return match.Clone().Order(tagOrder(q.Sort)...).Offset(offset).Limit(limit).All(ctx)
	}, match.Count)
}

func tagOrder(s TagSort) []calltag.OrderOption {
	switch s {
	case TagOldest:
		return []calltag.OrderOption{calltag.ByCreatedAt(), calltag.ByID()}
	case TagByName:
		return []calltag.OrderOption{store.OrderText(calltag.FieldName, false), calltag.ByID()}
	case TagFromName:
		return []calltag.OrderOption{store.OrderText(calltag.FieldName, true), calltag.ByID(sql.OrderDesc())}
	default:
		return []calltag.OrderOption{calltag.ByCreatedAt(sql.OrderDesc()), calltag.ByID(sql.OrderDesc())}
	}
}

// UpdateTag changes what is given: nil leaves a field, an empty emoji clears it. Nothing given leaves updated_at alone.
// Errors: tag_not_found; duplicate_tag (details.existing_id) when another tag has the new emoji and name.
// spec: Call tags, PUT.
func UpdateTag(ctx context.Context, db *store.DB, id uuid.UUID, name, emoji *string) (tag *ent.CallTag, err error) {
	if name != nil {
		trimmed, err := tagName(*name)
		if err != nil {
			return nil, err
		}
		name = &trimmed
	}
	if emoji != nil {
		if err := tagEmoji(*emoji); err != nil {
			return nil, err
		}
	}
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		tag, err = tx.CallTag.Query().Where(calltag.ID(id), store.ForUpdate).Only(ctx)
		if ent.IsNotFound(err) {
			return fault.Missing("tag")
		}
		if err != nil || name == nil && emoji == nil {
			return err
		}
		update := tag.Update().SetUpdatedAt(store.Now())
		if name != nil {
			update.SetName(*name).SetNameFold(store.Fold(*name))
			tag.Name = *name
		}
		if emoji != nil {
			update.SetEmoji(*emoji)
			tag.Emoji = *emoji
		}
		changed, err := update.Save(ctx)
		if err == nil {
			tag = changed
		}
		return err
	})
	if store.IsUnique(err) {
		// Outside the failed transaction: PostgreSQL answers nothing more inside it.
		other, err := db.Ent().CallTag.Query().Where(calltag.Name(tag.Name), calltag.Emoji(tag.Emoji), calltag.IDNEQ(id)).Only(ctx)
		if ent.IsNotFound(err) {
			return UpdateTag(ctx, db, id, name, emoji) // it is gone in the meantime
		}
		if err != nil {
			return nil, err
		}
		return nil, fault.New(fault.Exists, "duplicate_tag", "another tag of the workspace has this emoji and name").With("existing_id", other.ID.String())
	}
	return tag, err
}

// DeleteTag deletes a tag that no analysis refers to; with force, references are cleared in the same transaction and
// counted in cascaded, which is nil when there were none. The row lock makes it serializable with new references: one that
// is being written waits and then finds no tag; one that was written is counted. Errors: tag_not_found; tag_in_use
// (details in_use_count, tag_id). spec: Call tags, DELETE.
func DeleteTag(ctx context.Context, db *store.DB, id uuid.UUID, force bool) (cascaded *int, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		cascaded = nil
		tag, err := tx.CallTag.Query().Where(calltag.ID(id), store.ForUpdate).Only(ctx)
		if ent.IsNotFound(err) {
			return fault.Missing("tag")
		}
		if err != nil {
			return err
		}
		if !force {
			inUse, err := tx.CallAnalysis.Query().Where(callanalysis.CallTagID(id)).Count(ctx)
			if err != nil {
				return err
			}
			if inUse > 0 {
				return fault.New(fault.Conflict, "tag_in_use", "analyses refer to the tag; force=true clears the references and deletes it").
					With("in_use_count", inUse).With("tag_id", id.String())
			}
			return tx.CallTag.DeleteOne(tag).Exec(ctx)
		}
		cleared, err := tx.CallAnalysis.Update().Where(callanalysis.CallTagID(id)).ClearCallTagID().Save(ctx)
		if err != nil {
			return err
		}
		if cleared > 0 {
			cascaded = &cleared
		}
		return tx.CallTag.DeleteOne(tag).Exec(ctx)
	})
	return cascaded, err
}

// SetTag makes a tag the one of a call's analysis, or takes it away when tag is nil. A call that has not been analysed gets
// a row that only carries the tag. Errors: tag_not_found, call_not_found. CONTRACT.md §3, /v1/calls/{id}/tag.
func SetTag(ctx context.Context, db *store.DB, callID uuid.UUID, tag *uuid.UUID) error {
	workspace, _ := store.Workspace(ctx)
	err := db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		if tag != nil {
			// The lock makes a delete of the tag wait, and then see this reference.
			n, err := tx.CallTag.Query().Where(calltag.ID(*tag), store.ForUpdate).All(ctx)
			if err != nil {
				return err
			}
			if len(n) == 0 {
				return fault.Missing("tag")
			}
		}
		return tx.CallAnalysis.Create().SetWorkspaceID(workspace).SetCallID(callID).SetNillableCallTagID(tag).
			OnConflictColumns(callanalysis.FieldWorkspaceID, callanalysis.FieldCallID).
			Update(func(u *ent.CallAnalysisUpsert) {
				u.SetUpdatedAt(store.Now())
				if tag == nil {
					u.ClearCallTagID()
				} else {
					u.SetCallTagID(*tag)
				}
			}).Exec(ctx)
	})
	if store.IsForeignKey(err) { // the tag is there and locked: it is the call that is not
		return fault.Missing("call")
	}
	return err
}

func tagName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if n := utf8.RuneCountInString(name); n < 1 || n > maxTagName {
		return "", fault.Invalidf("name must have 1 to %d characters", maxTagName)
	}
	return name, nil
}

func tagEmoji(emoji string) error {
	if utf8.RuneCountInString(emoji) > maxTagEmoji {
		return fault.Invalidf("emoji must have at most %d characters", maxTagEmoji)
	}
	return nil
}
