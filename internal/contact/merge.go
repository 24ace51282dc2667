package contact

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/callwright/callwright/internal/fault"
)

// own are the contact's own field names: they can not be keys of custom fields.
var own = []string{
	"id", "first_name", "last_name", "phone", "email", "additional_notes", "status", "custom_fields", "created_at",
	"updated_at", "workspace_id",
}

// merge writes the entries of sent that fit into stored: keys sent are validated and written, keys omitted stay as they
// are, a null takes a key away. What does not fit is dropped and reported, in the order of the keys.
// spec: Contacts, PUT /contact/{id}.
func merge(defs map[string]definition, stored, sent json.RawMessage) (json.RawMessage, []Warning, error) {
	if len(bytes.TrimSpace(sent)) == 0 {
		return stored, nil, nil
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(sent, &entries); err != nil || entries == nil {
		return nil, nil, fault.Invalidf("custom_fields must be an object")
	}
	values := map[string]json.RawMessage{}
	if len(stored) > 0 {
		if err := json.Unmarshal(stored, &values); err != nil {
			return nil, nil, err
		}
	}
	var warnings []Warning
	for key, raw := range entries {
		d, p := lookup(defs, key)
		remove := string(raw) == "null"
		if p == (problem{}) && !remove {
			raw, p = d.normalise(raw)
		}
		switch {
		case p != problem{}:
			warnings = append(warnings, Warning{Key: key, Code: p.code, Message: cmp.Or(key, "the empty key") + " " + p.message})
		case remove:
			delete(values, key)
		default:
			values[key] = raw
		}
	}
	slices.SortFunc(warnings, func(a, b Warning) int { return strings.Compare(a.Key, b.Key) })
	return encode(values), warnings, nil
}

// lookup finds the definition that a key may be written under.
func lookup(defs map[string]definition, key string) (definition, problem) {
	if slices.Contains(own, key) {
		return definition{}, problem{ReservedKey, "is a field of the contact itself"}
	}
	d, known := defs[key]
	switch {
	case !known:
		return d, problem{UnknownKey, "is not defined in the workspace"}
	case d.archived:
		return d, problem{ArchivedKey, "is archived: its values stay and take no new ones"}
	}
	return d, problem{}
}
