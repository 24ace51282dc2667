package contact

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/sqljson"
	"github.com/google/uuid"

	"github.com/callwright/callwright/ent"
	"github.com/callwright/callwright/ent/contact"
	"github.com/callwright/callwright/ent/customfield"
	"github.com/callwright/callwright/internal/fault"
	"github.com/callwright/callwright/internal/store"
)

// Field is what a request says of a custom field's definition; nil is nothing.
type Field struct {
	Key, Label, Type *string
	Options          []string
	// Most characters of a value.
	MaxLength *int
	Archived  *bool
	// Update only: names of fields whose value is taken away.
	Clear []string
}

// keyPattern is what a key looks like. CONTRACT.md §2, Contacts.
var keyPattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

const (
	maxOptions = 200
	maxOption  = 128
	maxLabel   = 128
	maxLength  = 5000
)

// CreateField defines a field. Errors: validation_failed, already_exists (details.existing_id).
func CreateField(ctx context.Context, db *store.DB, in Field) (row *ent.CustomField, err error) {
	if in.Key == nil || !keyPattern.MatchString(*in.Key) {
		return nil, fault.Invalidf("key must match %s", keyPattern)
	}
	if slices.Contains(own, *in.Key) {
		return nil, fault.Invalidf("key %s is a field of the contact itself", *in.Key)
	}
	if in.Type == nil || !slices.Contains(types, Type(*in.Type)) {
		return nil, fault.Invalidf("type must be one of %s", typeNames())
	}
	if in.Label == nil {
		in.Label = in.Key
	}
	if in, err = in.checked(Type(*in.Type)); err != nil {
		return nil, err
	}
	if choosing(Type(*in.Type)) && len(in.Options) == 0 {
		return nil, fault.Invalidf("options must have at least one entry")
	}
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		create := tx.CustomField.Create().SetKey(*in.Key).SetLabel(*in.Label).SetType(*in.Type).
			SetOptions(in.Options).SetNillableMaxLength(in.MaxLength).SetNillableArchived(in.Archived)
		row, err = create.Save(ctx)
		return err
	})
	if store.IsUnique(err) {
		there, err := db.Ent().CustomField.Query().Where(customfield.Key(*in.Key)).Only(ctx)
		if err != nil {
			return nil, err
		}
		return nil, fault.New(fault.Exists, "already_exists", "the key %s is defined already", *in.Key).With("existing_id", there.ID.String())
	}
	return row, err
}

// GetField reads a definition. Errors: custom_field_not_found.
func GetField(ctx context.Context, c *ent.Client, id uuid.UUID) (*ent.CustomField, error) {
	row, err := c.CustomField.Query().Where(customfield.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, fault.Missing("custom_field")
	}
	return row, err
}

// ListFields gives a page of definitions, newest first; archived, unless nil, selects those that are or are not.
func ListFields(ctx context.Context, c *ent.Client, archived *bool, offset int, limit *int) (store.Page[*ent.CustomField], error) {
	match := c.CustomField.Query()
	if archived != nil {
		match.Where(customfield.Archived(*archived))
	}
	return store.ReadPage(ctx, offset, limit, func(ctx context.Context, offset, limit int) ([]*ent.CustomField, error) {
		return match.Clone().Order(customfield.ByCreatedAt(sql.OrderDesc()), customfield.ByID(sql.OrderDesc())).
			Offset(offset).Limit(limit).All(ctx)
	}, match.Count)
}

// UpdateField changes the fields that the input has. A key or type other than the definition's is validation_failed: values
// were written under them. Values that no longer fit stay as they are until they are written again.
func UpdateField(ctx context.Context, db *store.DB, id uuid.UUID, in Field) (row *ent.CustomField, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err = tx.CustomField.Query().Where(customfield.ID(id), store.ForUpdate).Only(ctx)
		if ent.IsNotFound(err) {
			return fault.Missing("custom_field")
		}
		if err != nil {
			return err
		}
		if in.Key != nil && *in.Key != row.Key {
			return fault.Invalidf("key can not change; it is %s", row.Key)
		}
		if in.Type != nil && *in.Type != row.Type {
			return fault.Invalidf("type can not change; it is %s", row.Type)
		}
		in, err := in.checked(Type(row.Type))
		if err != nil {
			return err
		}
		update, err := in.update(row)
		if err != nil || update == nil {
			return err
		}
		row, err = update.SetUpdatedAt(store.Now()).Save(ctx)
		return err
	})
	return row, err
}

// update is nil when nothing changes.
func (in Field) update(row *ent.CustomField) (*ent.CustomFieldUpdateOne, error) {
	u := row.Update()
	if in.Label != nil {
		u.SetLabel(*in.Label)
	}
	if in.Options != nil {
		u.SetOptions(in.Options)
	}
	u.SetNillableMaxLength(in.MaxLength).SetNillableArchived(in.Archived)
	for _, field := range in.Clear {
		switch field {
		case "label":
			u.SetLabel(row.Key)
		case "max_length":
			u.SetMaxLength(0)
		case "options":
			if choosing(Type(row.Type)) {
				return nil, fault.Invalidf("options must have at least one entry")
			}
		case "key", "type", "archived":
			return nil, fault.Invalidf("%s must not be null", field)
		}
	}
	if len(u.Mutation().Fields()) == 0 {
		return nil, nil
	}
	return u, nil
}

// DeleteField takes a definition away, or archives it when contacts have values of it: their values stay.
// CONTRACT.md §3, custom-fields. It reports whether the definition was archived instead.
func DeleteField(ctx context.Context, db *store.DB, id uuid.UUID) (archived bool, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.CustomField.Query().Where(customfield.ID(id), store.ForUpdate).Only(ctx)
		if ent.IsNotFound(err) {
			return fault.Missing("custom_field")
		}
		if err != nil {
			return err
		}
		archived, err = tx.Contact.Query().Where(hasValue(row.Key)).Exist(ctx)
		if err != nil {
			return err
		}
		if archived {
			return row.Update().SetArchived(true).SetUpdatedAt(store.Now()).Exec(ctx)
		}
		return tx.CustomField.DeleteOne(row).Exec(ctx)
	})
	return archived, err
}

func hasValue(key string) func(*sql.Selector) {
	return func(s *sql.Selector) { s.Where(sqljson.HasKey(contact.FieldCustomFields, sqljson.Path(key))) }
}

// definitions are the workspace's definitions by key.
func definitions(ctx context.Context, c *ent.Client) (map[string]definition, error) {
	rows, err := c.CustomField.Query().All(ctx)
	if err != nil {
		return nil, err
	}
	defs := make(map[string]definition, len(rows))
	for _, row := range rows {
		d := definition{typ: Type(row.Type), options: row.Options, longest: row.MaxLength, archived: row.Archived}
		if d.longest == 0 {
			d.longest = longest[d.typ]
		}
		defs[row.Key] = d
	}
	return defs, nil
}

// checked holds the input against its bounds for the type.
func (in Field) checked(t Type) (Field, error) {
	if in.Label != nil {
		label := strings.TrimSpace(*in.Label)
		if n := utf8.RuneCountInString(label); n < 1 || n > maxLabel {
			return in, fault.Invalidf("label must have 1 to %d characters", maxLabel)
		}
		in.Label = &label
	}
	if in.MaxLength != nil && (*in.MaxLength < 1 || *in.MaxLength > maxLength) {
		return in, fault.Invalidf("max_length must be 1 to %d", maxLength)
	}
	if in.MaxLength != nil && longest[t] == 0 {
		return in, fault.Invalidf("max_length has no meaning for the type %s", t)
	}
	if len(in.Options) == 0 {
		return in, nil
	}
	if !choosing(t) {
		return in, fault.Invalidf("options have no meaning for the type %s", t)
	}
	return in, in.checkOptions()
}

func (in Field) checkOptions() error {
	if len(in.Options) > maxOptions {
		return fault.Invalidf("options must have at most %d entries", maxOptions)
	}
	seen := map[string]bool{}
	for i, o := range in.Options {
		o = strings.TrimSpace(o)
		if n := utf8.RuneCountInString(o); n < 1 || n > maxOption {
			return fault.Invalidf("options[%d] must have 1 to %d characters", i, maxOption)
		}
		if seen[o] {
			return fault.Invalidf("options[%d] stands there twice", i)
		}
		seen[o], in.Options[i] = true, o
	}
	return nil
}

func choosing(t Type) bool { return t == TypeSelect || t == TypeMultiSelect }

func typeNames() string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, ", ")
}
